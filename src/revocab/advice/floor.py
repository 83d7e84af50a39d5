"""The fewest tokens that any vocabulary can make of a text while the splitter stays as it is.

A splitter cuts text into pre-tokens before the vocabulary is looked at, and no token reaches over
a cut: tokens >= pre-tokens, whatever is added. A word class ``\\p{L}+`` cuts before every vowel
sign (``\\p{M}``) of Devanagari and many other scripts, so words of these stay in pieces; the
repair puts marks among the letters.

Without a splitter (SentencePiece's ``▁`` files) the limit is what the trainer joins: neighbouring
tokens of the base that together are letters, or punctuation and symbols, after one space at most
(:func:`revocab.tokenizer_building.pretokens.is_word_part`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from revocab.advice.real_words import count_tokens, cut_text
from revocab.tokenizer_building.editable import EditableVocabulary
from revocab.tokenizer_building.pretokens import is_word_part
from revocab.tokenizers.alphabets import GPT2_WORDS
from revocab.tokenizers.canonical import BYTE_TOKEN

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: A class of characters, or letters outside of one, in a splitter's expression.
CLASS_OR_LETTERS = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\p\{L\}")


def repair_expression(expression: str) -> str | None:
    """Return a splitter's expression with marks among letters; None where words have them."""
    letters = [part for part in CLASS_OR_LETTERS.findall(expression) if r"\p{L}" in part]
    if all(part.startswith("[^") or r"\p{M}" in part for part in letters):
        return None

    def with_marks(match: re.Match[str]) -> str:
        part = match[0]
        if part == r"\p{L}":
            return r"[\p{L}\p{M}]"
        return part if r"\p{M}" in part else part.replace(r"\p{L}", r"\p{L}\p{M}")

    return CLASS_OR_LETTERS.sub(with_marks, expression)


def _repair(step: Any) -> bool:
    """Repair a pre-tokeniser's state in place; return whether there was anything to repair."""
    if not step:
        return False
    if step["type"] == "Sequence":
        return any([_repair(inner) for inner in step["pretokenizers"]])
    if step["type"] == "ByteLevel" and step.get("use_regex", True):
        split = {
            "type": "Split",
            "pattern": {"Regex": repair_expression(GPT2_WORDS)},
            "behavior": "Isolated",
            "invert": False,
        }
        inside = [split, {**step, "use_regex": False}]
        step.clear()
        step.update({"type": "Sequence", "pretokenizers": inside})
        return True
    if step["type"] != "Split":
        return False
    repaired = repair_expression(step["pattern"].get("Regex", ""))
    if repaired is not None:
        step["pattern"]["Regex"] = repaired
    return repaired is not None


def _pretokens_only(state: dict[str, Any]) -> Tokenizer:
    """Return a pipeline with a model that makes one token of whatever reaches it."""
    from tokenizers import Tokenizer

    added = [{**token, "id": number} for number, token in enumerate(state["added_tokens"], 1)]
    model = {"type": "WordLevel", "vocab": {"": 0}, "unk_token": ""}
    changed = {"model": model, "added_tokens": added, "post_processor": None}
    return Tokenizer.from_str(json.dumps({**state, **changed}))


def splits_words(backend: Tokenizer) -> bool:
    """Return whether a tokenizer cuts words apart before its vocabulary is looked at."""
    pipeline = _pretokens_only(json.loads(backend.to_str()))
    return count_tokens(pipeline, ["a a"]) > 1


def splitter_floor(backend: Tokenizer, documents: Sequence[str]) -> int:
    """Return the number of pre-tokens, and of added tokens in the text."""
    return count_tokens(_pretokens_only(json.loads(backend.to_str())), documents)


def repaired_splitter_floor(backend: Tokenizer, documents: Sequence[str]) -> int | None:
    """Return the pre-tokens of the repaired splitter; None where there is nothing to repair."""
    state = json.loads(backend.to_str())
    return (
        count_tokens(_pretokens_only(state), documents) if _repair(state["pre_tokenizer"]) else None
    )


def trainer_floor(vocabulary: EditableVocabulary, documents: Sequence[str]) -> int:
    """Return the fewest tokens that new ones could make of the base's tokens of a text."""
    words, _ = cut_text(vocabulary, documents)
    spelt = {piece: spelling(vocabulary, piece) for word in words.pieces for piece in word}
    joined = (joined_runs([spelt[piece] for piece in word]) for word in words.pieces)
    return sum(runs * count for runs, count in zip(joined, words.counts, strict=True))


def spelling(vocabulary: EditableVocabulary, token: str) -> bytes:
    byte = BYTE_TOKEN.fullmatch(token) if vocabulary.style == "byte_fallback" else None
    return bytes([int(byte[1], 16)]) if byte else vocabulary.text(token)


def joined_runs(pieces: Sequence[bytes]) -> int:
    """Return how many are left of pieces where all neighbours are joined that may be.

    Whatever lies inside what may be joined may be joined itself, so going from left to right, as
    far as each goes, leaves the fewest.
    """
    runs, run = 0, b""
    for piece in pieces:
        if run and is_word_part(run + piece):
            run += piece
        else:
            runs, run = runs + 1, piece
    return runs
