"""Rows of text in two tokenizations, as chunks that begin and end in both.

Approximate likelihood matching (Minixhofer et al. 2025, section 3): a chunk ends at each character
to which both tokenizations have come, so it is as short as can be, and one tokenizer's tokens of it
spell what the other's do. The tokenizers need not share a token. The paper's correction for
likelihoods of text that may go on within a word (outcome chunk debiasing) is left out.

Suffixes: B rows of a batch, L tokens of a packed row, N tokens of the student, M of the source
model, C chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from revocab.training.data.snippets import padded, totals
from revocab.training.data.tokenizer_pair import Pair, aligned_places


def chunk_numbers(ends_N: np.ndarray, others_M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the chunk of each token of two tokenizations of a text, or -1 behind the last chunk.

    Both take what :func:`revocab.training.data.tokenizer_pair.whole_ends` returns; the results are
    int64, and ascend from 0 in both.
    """
    places_N = aligned_places(ends_N, others_M)
    lasts = np.flatnonzero(places_N >= 0)
    return _numbers(lasts, len(ends_N)), _numbers(places_N[lasts], len(others_M))


def _numbers(lasts: np.ndarray, length: int) -> np.ndarray:
    """Return the chunk of each of some tokens; ``lasts`` are the last tokens of chunks."""
    numbers = np.searchsorted(lasts, np.arange(length))
    return np.where(numbers < len(lasts), numbers, -1)


@dataclass
class Side:
    """One tokenization of a row, as it grows."""

    ids: list[int] = field(default_factory=list)
    #: The chunk of each token, or -1.
    chunk: list[int] = field(default_factory=list)

    def add(self, ids: Sequence[int], chunks: Sequence[int]) -> None:
        self.ids += ids
        self.chunk += chunks

    def unusable(self, limit: int) -> set[int]:
        """Return chunks whose likelihood is not known when ``limit`` tokens are read.

        Nothing comes before the first token, so no model predicts it.
        """
        return {*self.chunk[:1], *self.chunk[limit:]}

    def cut(self, limit: int, unusable: set[int]) -> Side:
        kept = [-1 if number in unusable else number for number in self.chunk[:limit]]
        return Side(self.ids[:limit], kept)


@dataclass(frozen=True)
class ChunkedText:
    """What a stage reads that matches likelihoods: the rows of its packed text."""

    pair: Pair
    #: Packed row at each place of the stage.
    row_S: np.ndarray

    def step(self, tokens: Any, begin: int, rows: int) -> dict[str, np.ndarray]:
        """Return ``rows`` rows of the stage from place ``begin`` on.

        ``input_ids`` and ``chunk`` [B, N], ``source_ids`` and ``source_chunk`` [B, M], padded at
        their ends; ``sizes`` and ``source_sizes`` [B], the tokens of a row; ``predicted`` [B], the
        chunks of the whole, and ``following`` [B], its tokens that follow another. All int64.
        """
        sides = self.rows([*tokens[self.row_S[begin : begin + rows]].tolist()])
        ours, theirs = zip(*sides, strict=True)
        sizes = np.array([len(side.ids) for side in ours])
        following = int(np.maximum(sizes - 1, 0).sum())
        chunk_BN = padded([side.chunk for side in ours], -1)
        return {
            "input_ids": padded([side.ids for side in ours], 0),
            "chunk": chunk_BN,
            "sizes": sizes,
            "source_ids": padded([side.ids for side in theirs], 0),
            "source_chunk": padded([side.chunk for side in theirs], -1),
            "source_sizes": np.array([len(side.ids) for side in theirs]),
            **totals(rows, predicted=self.count(chunk_BN), following=following),
        }

    @staticmethod
    def count(chunk_BN: np.ndarray) -> int:
        """Return how many chunks some rows have."""
        return sum(len(np.unique(row[row >= 0])) for row in chunk_BN)

    def rows(self, rows_BL: Sequence[Sequence[int]]) -> list[tuple[Side, Side]]:
        """Return rows of packed ids in both tokenizations, each text encoded anew by both.

        A special token stands where it stood, and is a chunk of its own, if the source model has
        one of the same role; others are left out. Rows begin with bos where both have it. What is
        longer than a model reads is cut.
        """
        student, source = self.pair.student, self.pair.source
        parts = [[*split(row, student.special)] for row in rows_BL]
        texts = [student.decode(part) for row in parts for part in row if not isinstance(part, int)]
        encoded = zip(
            student.encode(texts, start=False), source.encode(texts, start=False), strict=True
        )
        others = self.special_pairs()
        return [self._assembled(row, encoded, others) for row in parts]

    def _assembled(
        self, parts: Sequence[int | list[int]], encoded: Iterator[Any], others: Mapping[int, int]
    ) -> tuple[Side, Side]:
        student, source = self.pair.student, self.pair.source
        ours, theirs, count = Side(), Side(), 0
        if self.pair.start and parts and parts[0] != student.start[0]:
            ours.add(student.start, [-1])
            theirs.add(source.start, [-1])
        for part in parts:
            if isinstance(part, int):
                if part in others:
                    ours.add([part], [count])
                    theirs.add([others[part]], [count])
                    count += 1
                continue
            (ids, ends), (other_ids, other_ends) = next(encoded)
            chunks = chunk_numbers(ends, other_ends)
            for side, own, numbers in zip((ours, theirs), (ids, other_ids), chunks, strict=True):
                side.add(own, np.where(numbers < 0, -1, numbers + count).tolist())
            count += int(max(chunks[0], default=-1)) + 1
        unusable = ours.unusable(student.limit) | theirs.unusable(source.limit)
        return ours.cut(student.limit, unusable), theirs.cut(source.limit, unusable)

    def special_pairs(self) -> dict[int, int]:
        """Return the source model's special token of the same role for each of the student's."""
        by_role = {role: token for token, role in self.pair.source.special.items() if role}
        return {
            token: by_role[role]
            for token, role in self.pair.student.special.items()
            if role in by_role
        }


def split(ids: Sequence[int], special: Mapping[int, Any]) -> Iterator[int | list[int]]:
    """Yield a row's special tokens, and lists of those that are text between them."""
    text: list[int] = []
    for token in ids:
        if token not in special:
            text.append(token)
            continue
        if text:
            yield text
        text = []
        yield token
    if text:
        yield text
