"""The fewest tokens that any vocabulary can make of a text while the splitter stays as it is.

A splitter cuts text into pre-tokens, and no token reaches over a cut: tokens >= pre-tokens,
whatever is added (``tokenizers/splitter.py``, also for splitters that cut words at marks).
Without a splitter (SentencePiece's ``▁`` files) the limit is what the trainer joins: neighbouring
tokens that may be one (:func:`revocab.vocabulary.building.pretokens.is_word_part`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast, Tokenizer
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.building.pretokens import is_word_part
from revocab.vocabulary.fertility.token_counts import count_tokens, cut_text
from revocab.vocabulary.tokenizers.canonical import BYTE_TOKEN
from revocab.vocabulary.tokenizers.splitter import pretokens_only, repair_splitter

if TYPE_CHECKING:
    from revocab.vocabulary.fertility.measure import Text


#: A text this close to its floor cannot get much cheaper.
NEAR_FLOOR = 1.15
#: So much of each corpus is counted.
COUNTED_BYTES = 4_000_000
FLOOR_COLUMNS = (
    "tokenizer", "corpus", "documents", "words", "tokens", "floor_tokens", "joined_floor_tokens",
    "has_splitter", "tokens_per_word", "floor", "joined_floor",
)  # fmt: skip


@dataclass(frozen=True)
class Floor:
    """The fewest tokens of a text."""

    tokens: int
    #: The same with marks joined to words; None where the splitter needs no such repair, or no
    #: repair is exact.
    repaired_tokens: int | None
    #: Whether the floor is the splitter's, or what the trainer joins where there is no splitter.
    has_splitter: bool


def measure_floor(tokenizer: PreTrainedTokenizerFast, documents: Sequence[str]) -> Floor:
    """Return the floor of texts.

    Raises :class:`RevocabError` for a tokenizer without a splitter that cannot be extended.
    """
    backend = tokenizer.backend_tokenizer
    if not splits_words(backend):
        tokens = trainer_floor(EditableVocabulary.read(tokenizer), documents)
        return Floor(tokens, None, has_splitter=False)
    repaired = repaired_splitter_floor(backend, documents)
    return Floor(splitter_floor(backend, documents), repaired, has_splitter=True)


def splits_words(backend: Tokenizer) -> bool:
    pipeline = pretokens_only(json.loads(backend.to_str()))
    return count_tokens(pipeline, ["a a"]) > 1


def splitter_floor(backend: Tokenizer, documents: Sequence[str]) -> int:
    return count_tokens(pretokens_only(json.loads(backend.to_str())), documents)


def repaired_splitter_floor(backend: Tokenizer, documents: Sequence[str]) -> int | None:
    """Return the pre-tokens of the repaired splitter; None where there is nothing to repair."""
    repair = repair_splitter(backend)
    if not repair.works:
        return None
    state = {**json.loads(backend.to_str()), "pre_tokenizer": repair.splitter}
    return count_tokens(pretokens_only(state), documents)


def trainer_floor(vocabulary: EditableVocabulary, documents: Sequence[str]) -> int:
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


def measure_floors(
    tokenizers: Mapping[str, PreTrainedTokenizerFast],
    corpora: Sequence[Text],
    words: Mapping[str, Sequence[int]],
) -> list[dict[str, Any]]:
    """Return a row (:data:`FLOOR_COLUMNS`) of each tokenizer on the first documents of each corpus.

    ``words`` has those of each document; ``floor`` and ``joined_floor`` are tokens per word, the
    fewest with the splitter as it is, and with marks joined to words; None where there is none.
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
