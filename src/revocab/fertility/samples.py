"""The beginning of a text, cut into a tokenizer's tokens, as a reader sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from revocab.heavy_types import PreTrainedTokenizerFast

if TYPE_CHECKING:
    from revocab.fertility.measure import Text

#: Words of a sample, and characters of one without spaces.
WORDS, CHARACTERS = 12, 80


def beginning(documents: Sequence[str]) -> str:
    words = next((words for text in documents if (words := text.split())), [])
    return " ".join(words[:WORDS])[:CHARACTERS]


def cut_into_tokens(tokenizer: PreTrainedTokenizerFast, text: str) -> list[str]:
    """Return the text of each token; a dot for one that only goes on with the character before."""
    spans = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    pieces, end = [], 0
    for start, after in spans:
        pieces.append(text[max(start, end) : after] or "·")
        end = max(end, after)
    return pieces


def token_samples(
    tokenizers: Mapping[str, PreTrainedTokenizerFast], corpora: Sequence[Text]
) -> list[dict[str, Any]]:
    return [
        {
            "corpus": text.corpus,
            "tokenizer": name,
            "pieces": cut_into_tokens(tokenizer, beginning(text.documents)),
        }
        for text in corpora
        for name, tokenizer in tokenizers.items()
    ]
