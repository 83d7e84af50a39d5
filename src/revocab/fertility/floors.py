"""How far tokenizers are from the fewest tokens per word that their splitters allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.fertility.floor import NEAR_FLOOR, measure_floor
from revocab.fertility.real_words import count_tokens
from revocab.heavy_types import PreTrainedTokenizerFast

if TYPE_CHECKING:
    from revocab.fertility.measure import Text

#: So much of each corpus is counted.
COUNTED_BYTES = 4_000_000
FLOOR_COLUMNS = (
    "tokenizer", "corpus", "documents", "words", "tokens", "floor_tokens", "joined_floor_tokens",
    "has_splitter", "tokens_per_word", "floor", "joined_floor",
)  # fmt: skip


def measure_floors(
    tokenizers: Mapping[str, PreTrainedTokenizerFast],
    corpora: Sequence[Text],
    words: Mapping[str, Sequence[int]],
) -> list[dict[str, Any]]:
    """Return a row (:data:`FLOOR_COLUMNS`) of each tokenizer on the first documents of each corpus.

    ``words`` has those of each document of a corpus, as :func:`.measure.measure_fertility` counts.
    ``floor`` and ``joined_floor`` are tokens per word: the fewest with the splitter as it is, and
    with marks joined to words; None where there is none (:class:`~revocab.fertility.floor.Floor`).
    """
    rows = []
    for text in corpora:
        ends = accumulate(len(document.encode()) for document in text.documents)
        documents = text.documents[: 1 + sum(end < COUNTED_BYTES for end in ends)]
        counted = sum(words[text.corpus][: len(documents)])
        for name, tokenizer in tokenizers.items():
            row = floor_row(tokenizer, documents, counted)
            rows.append({"tokenizer": name, "corpus": text.corpus, **row})
    return rows


def floor_row(
    tokenizer: PreTrainedTokenizerFast, documents: Sequence[str], words: int
) -> dict[str, Any]:
    tokens = count_tokens(tokenizer.backend_tokenizer, documents)
    try:
        floor = measure_floor(tokenizer, documents)
    except RevocabError:  # no splitter, and no vocabulary that new tokens are added to
        floor = None
    fewest = None if floor is None else floor.tokens
    joined = None if floor is None else floor.repaired_tokens

    def per_word(number: int | None) -> float | None:
        return None if number is None or not words else number / words

    return {
        "documents": len(documents),
        "words": words,
        "tokens": tokens,
        "floor_tokens": fewest,
        "joined_floor_tokens": joined,
        "has_splitter": None if floor is None else floor.has_splitter,
        "tokens_per_word": per_word(tokens),
        "floor": per_word(fewest),
        "joined_floor": per_word(joined),
    }


def floor_sentence(
    tokenizer: str, corpus: str, tokens: float | None, floor: float | None, joined: float | None
) -> str | None:
    """Return what tokens per word mean beside their floors; None where there is room enough."""
    if not tokens or not floor:
        return None
    near = tokens <= NEAR_FLOOR * floor
    cuts_at_marks = joined is not None and floor > NEAR_FLOOR * joined
    if not near and not cuts_at_marks:
        return None
    said = f"{tokenizer} on {corpus}: {tokens:.2f} tokens per word"
    if near:
        said += f" are close to {floor:.2f}, the fewest that any vocabulary can have here"
    else:
        said += f", and {floor:.2f} at least with any vocabulary, since words are cut at marks"
    if cuts_at_marks:
        said += f"; with marks joined to words (extend, join_marks: true) {joined:.2f}"
    return said
