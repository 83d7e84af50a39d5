"""Where the rows of words of a list start from: a source token, or the mean of a description.

The list comes with the target tokenizer (``words.json``, :mod:`revocab.vocabulary.building.words`).
Suffixes: M missing tokens, W those of them that are such words, D the width of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from revocab.closed import Closed, checked
from revocab.errors import refuse
from revocab.heavy_types import PreTrainedTokenizerFast, Tensor
from revocab.initialise.method import MethodInputs
from revocab.initialise.rows.source_weights import SourceWeights, mean_weights
from revocab.io import read_json
from revocab.vocabulary.building.construction import WORDS
from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary


class ListedToken(Closed):
    """A token of a word."""

    id: int = Field(ge=0)
    token: str


class ListedWord(Closed):
    """What became of a word of a list, and where its row starts from."""

    word: str
    became: Literal["added", "exists", "impossible"]
    tokens: list[ListedToken]
    reason: str | None = None
    like: str | None = None
    description: str | None = None


class WordList(Closed):
    """``words.json``, which may come with a tokenizer that somebody else made."""

    words: list[ListedWord]


def source_rows_of(
    source: PreTrainedTokenizerFast, by_data: Mapping[bytes, int], word: ListedWord, token: bytes
) -> list[int]:
    """Return the ids that a word's token starts from; none where the source has no such token.

    What ``like`` names has a space before it if the word's token has one, as far as the source has
    both; or it is as the vocabulary spells it. ``by_data``: the source's tokens by their bytes.
    """
    if word.like is None:
        return list(source(word.description, add_special_tokens=False)["input_ids"])
    forms = [b" " + word.like.encode(), word.like.encode()]
    rows = [by_data[form] for form in forms if form in by_data]
    if rows:
        return [rows[0] if token.startswith(b" ") else rows[-1]]
    number = source.get_vocab().get(word.like)
    return [] if number is None else [number]


def read_word_starts(
    folder: Path, source: PreTrainedTokenizerFast, target: PreTrainedTokenizerFast
) -> dict[int, list[int]]:
    """Return the source rows that words' tokens start from, by target id.

    ``folder`` is the target tokenizer's. Raises :class:`RevocabError` naming every word whose start
    the source does not have, and every token that is another one in the target.
    """
    file = folder / WORDS
    if not file.is_file():
        return {}
    by_data: dict[bytes, int] = {}
    for number, known in enumerate(canonical_vocabulary(source)):
        if known.kind not in ("special", "byte"):
            by_data.setdefault(known.data, number)
    canonical, ids = canonical_vocabulary(target), target.get_vocab()
    starts: dict[int, list[int]] = {}
    problems = []
    for word in checked(WordList, read_json(file), str(file)).words:
        for token in word.tokens:
            if ids.get(token.token) != token.id:
                problems.append(
                    f"{file}: {word.word!r} has id {token.id} as {token.token!r}, but its"
                    " tokenizer.json has not; give the words.json of this tokenizer, or none"
                )
            elif word.like or word.description:
                data = canonical[token.id].data
                if rows := source_rows_of(source, by_data, word, data):
                    starts[token.id] = rows
                    continue
                problems.append(
                    f"{file}: {word.word!r} starts from {word.like or word.description!r}, which"
                    " the source does not have as one token; allowed is a token of the source or a"
                    " description"
                )
    refuse(dict.fromkeys(problems))
    return starts


def rows_with_words(
    inputs: MethodInputs, noise: float, rows_of: Callable[[MethodInputs], Tensor]
) -> Tensor:
    """Return a row per missing token: of words by their starts, of all others by ``rows_of``."""
    import torch

    missing = inputs.missing_N.tolist()
    named_M = torch.tensor([token in inputs.word_starts for token in missing], dtype=torch.bool)
    named_M = named_M.to(inputs.missing_N.device)
    starts = (mean_weights(inputs.word_starts[t]) for t in missing if t in inputs.word_starts)
    weights = SourceWeights.of(starts, len(inputs.source_VD))
    rest = replace(inputs, missing_N=inputs.missing_N[~named_M], word_starts={})
    rows_MD = inputs.source_VD.new_empty(len(named_M), inputs.source_VD.shape[1])
    if len(rest.missing_N):
        rows_MD[~named_M] = rows_of(rest)
    rows_WD = weights.combine(inputs.source_VD)
    if noise:
        drawn_WD = torch.randn(rows_WD.shape, generator=inputs.generator()).to(rows_WD.device)
        rows_WD = rows_WD + noise * inputs.source_VD.std(dim=0) * drawn_WD
    rows_MD[named_M] = rows_WD
    inputs.notes["words_with_a_start"] = len(rows_WD)
    return rows_MD


def weights_with_words(inputs: MethodInputs, weights: SourceWeights) -> SourceWeights:
    """Return a method's weights of the missing tokens with those of words in their place."""
    if not inputs.word_starts:
        return weights
    lengths = weights.starts_N.diff().tolist()
    entries = zip(weights.source_K.split(lengths), weights.weight_K.split(lengths), strict=True)
    rows = (
        mean_weights(inputs.word_starts[token])
        if token in inputs.word_starts
        else dict(zip(ids_K.tolist(), weights_K.tolist(), strict=True))
        for token, (ids_K, weights_K) in zip(inputs.missing_N.tolist(), entries, strict=True)
    )
    return SourceWeights.of(rows, weights.source_rows)
