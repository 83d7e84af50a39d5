"""Splitters that cut words at their marks, and text with marks."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from construction_toys import edited
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

#: Three words and a full stop; five of its letters carry a vowel sign.
HINDI = "किताब की है."
HINDI_TEXTS = [
    f"{who} {what} {where} {does}।"
    for who, what, where, does in product(
        ["बच्चे ने", "शिक्षक की", "मेरी बेटी"], ["किताब", "नीली साइकिल", "चिट्ठी"],
        ["नदी के किनारे", "गाँव में"], ["देखी है", "मिली थी", "खो गई"],
    )
]  # fmt: skip
#: Letters, marks of several scripts, digits, spaces, symbols with a mark of their own.
MARKED = ["क", "ि", "ा", "की", " है", "ก", "ำ", "ู", "e\u0301", "\u0301", "❤\ufe0f", "1\ufe0f\u20e3"]
MARKED_TEXT = st.lists(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from([*MARKED, " ", "  ", "\n", "!", "abc", " the", "12", "'s", "\u200d"]),
    max_size=14,
).map("".join)


def bare(splitter: pre_tokenizers.PreTokenizer) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE({chr(33): 0}, []))
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def gpt2_like(**settings: bool) -> Tokenizer:
    """Byte-level with the expression that the library itself holds."""
    return bare(pre_tokenizers.ByteLevel(**{"add_prefix_space": False, **settings}))


def like_gpt2(tokenizer, folder: Path, *, add_prefix_space: bool = False) -> Path:
    """Byte-level with the expression that the library itself holds."""
    step = {"type": "ByteLevel", "trim_offsets": True, "use_regex": True}
    return edited(tokenizer, folder, pre_tokenizer={**step, "add_prefix_space": add_prefix_space})
