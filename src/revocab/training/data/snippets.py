"""Text for stages that learn from the source model: the same snippet in two tokenizations.

Token Distillation (Dobler et al. 2025): for each new token snippets that contain it are drawn from
the rows that a run was packed with, all of its stages' rows. The student reads a snippet in its own
tokens, the source model in the old ones. Tokens are compared where both tokenizations have come to
the same character.

Suffixes: S snippets, N tokens of the student, M of the source model, B rows of a batch, K snippets
to a row, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from revocab.training.data.packed_rows import PackedRows
from revocab.training.data.tokenizer_pair import Pair, aligned_places

#: Rows that are looked through at once.
BLOCK_ROWS = 1024
#: Occurrences that wait until the fewest of each token are kept.
WAITING = 1 << 20
#: Tells the random numbers of drawing from those of other uses of a seed.
OCCURRENCES, WINDOWS, TURNS = 3, 4, 5


# --- what is drawn --------------------------------------------------------------------------------


def drawn_places(
    blocks: Iterable[np.ndarray], wanted_V: np.ndarray, most: int, seed: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return up to ``most`` occurrences of each wanted token, drawn uniformly without repetition.

    ``blocks`` are arrays of ids, one behind the other. Returns ids and places (both int64) in all
    ids of all blocks; by id, and those of one id in random order. Memory is bounded by what is
    returned, whatever the length of the text.
    """
    bound_V = np.where(wanted_V, np.inf, -np.inf)
    kept = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    waiting, size, begin = [kept], 0, 0
    for number, block in enumerate(blocks):
        ids = block.reshape(-1).astype(np.int64)
        keys = np.random.default_rng([*seed, OCCURRENCES, number]).random(len(ids))
        hits = np.flatnonzero(keys < bound_V[ids])
        waiting.append((ids[hits], hits + begin, keys[hits]))
        size, begin = size + len(hits), begin + len(ids)
        if size > max(WAITING, len(waiting[0][0])):
            waiting, size = [_fewest(waiting, most, bound_V)], 0
    ids, places, _ = _fewest(waiting, most, bound_V)
    return ids, places


def _fewest(
    parts: Sequence[tuple[np.ndarray, ...]], most: int, bound_V: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of each id the ``most`` occurrences of smallest key, and lower the bound of full ids.

    Which those are does not depend on the parts.
    """
    ids, places, keys = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((keys, ids))
    ids, places, keys = ids[order], places[order], keys[order]
    rank = ranks(ids)
    last = rank == most - 1
    bound_V[ids[last]] = keys[last]
    kept = rank < most
    return ids[kept], places[kept], keys[kept]


def ranks(ids: np.ndarray) -> np.ndarray:
    """Return each sorted id's number (int64) among those that equal it."""
    firsts = np.flatnonzero(np.diff(ids, prepend=-1))
    return np.arange(len(ids)) - np.repeat(firsts, np.diff(firsts, append=len(ids)))


def in_turns(ids: np.ndarray, slots: int, seed: Sequence[int]) -> np.ndarray:
    """Return ``slots`` numbers (int64) of sorted ``ids``: the first of each id, then the second …

    The order within a turn is random. When all have had their turn, it begins again.
    """
    random = np.random.default_rng([*seed, TURNS]).random(len(ids))
    return np.resize(np.lexsort((random, ranks(ids))), slots)


@dataclass(frozen=True)
class Windows:
    """Where a stage's snippets are in the packed rows, in the order in which they are read."""

    row_S: np.ndarray
    begin_S: np.ndarray
    #: Column of the token that a snippet was drawn for.
    centre_S: np.ndarray
    #: Tokens of a window, and windows to each row of a step.
    length: int
    each: int

    def __len__(self) -> int:
        return len(self.row_S)


def around_tokens(
    packed: PackedRows, wanted_V: np.ndarray, *, length: int, most: int, rows: int, seed: list[int]
) -> tuple[Windows, np.ndarray]:
    """Return windows around wanted tokens that fill ``rows`` rows, and the ids that have some.

    The token stands at a random place in the first half of its window, or later where the row
    begins or ends. No window crosses the border of a row.
    """
    width = packed.sequence_length
    ids, places = drawn_places(blocks_of(packed), wanted_V, most, seed)
    if not len(ids):
        return Windows(*(np.zeros(0, np.int64),) * 3, length, width // length), ids
    offsets = np.random.default_rng([*seed, WINDOWS]).integers(0, max(1, length // 2), len(ids))
    row, centre = np.divmod(places, width)
    begin = np.clip(centre - offsets, 0, width - length)
    each = width // length
    order = in_turns(ids, rows * each, seed)
    return Windows(row[order], begin[order], centre[order], length, each), np.unique(ids)


def blocks_of(packed: PackedRows) -> Iterator[np.ndarray]:
    for begin in range(0, packed.rows, BLOCK_ROWS):
        yield packed.tokens[[*range(begin, min(packed.rows, begin + BLOCK_ROWS))]]


# --- what a step reads ----------------------------------------------------------------------------


@dataclass(frozen=True)
class StageText:
    """What a stage reads that learns hidden states of the source model."""

    windows: Windows
    pair: Pair
    #: New tokens, bool; positions before the first of a snippet are not compared. None: all are.
    new_V: np.ndarray | None

    def texts(self, tokens: Any, numbers: np.ndarray) -> list[str]:
        """Return the texts of snippets by number: windows, cut at special tokens."""
        windows, special = self.windows, self.pair.student.special
        rows = tokens[windows.row_S[numbers]]
        texts = []
        for row, number in zip(rows, numbers.tolist(), strict=True):
            begin = int(windows.begin_S[number])
            centre = int(windows.centre_S[number]) - begin
            ids = row[begin : begin + windows.length].tolist()
            borders = [place for place, token in enumerate(ids) if token in special]
            first = max([-1, *(place for place in borders if place < centre)])
            last = min([len(ids), *(place for place in borders if place > centre)])
            texts.append(self.pair.student.decode(ids[first + 1 : last]))
        return texts

    def step(self, tokens: Any, begin: int, rows: int) -> dict[str, np.ndarray]:
        """Return the snippets of ``rows`` rows of the stage from row ``begin`` on.

        ``input_ids`` [B, K, N] and ``source_ids`` [B, K, M], padded with 0 at their ends; ``sizes``
        [B, K], the tokens of each snippet; ``aligned`` [B, K, N], the source model's position that
        each is compared with, or -1; ``predicted`` [B], the compared tokens of the whole, and
        ``following`` [B], its tokens that follow another. All int64.
        """
        each = self.windows.each
        numbers = np.arange(begin * each, (begin + rows) * each)
        texts = self.texts(tokens, numbers)
        ours = self.pair.student.encode(texts, start=self.pair.start)
        theirs = self.pair.source.encode(texts, start=self.pair.start)
        aligned = []
        for (ids, ends), (_, others) in zip(ours, theirs, strict=True):
            places = aligned_places(ends, others)
            if self.new_V is not None:
                new = np.flatnonzero(self.new_V[ids])
                places[: new[0] if len(new) else None] = -1
            aligned.append(places)
        arrays = {
            "input_ids": padded([ids for ids, _ in ours], 0),
            "source_ids": padded([ids for ids, _ in theirs], 0),
            "aligned": padded(aligned, -1),
            "sizes": np.array([len(ids) for ids, _ in ours]),
            "source_sizes": np.array([len(ids) for ids, _ in theirs]),
        }
        following = int(np.maximum(arrays["sizes"] - 1, 0).sum())
        return {
            **{name: array.reshape(rows, each, *array.shape[1:]) for name, array in arrays.items()},
            **totals(rows, predicted=int((arrays["aligned"] >= 0).sum()), following=following),
        }


def totals(rows: int, **numbers: int) -> dict[str, np.ndarray]:
    """Return the numbers of a whole step, at least 1, for each of its rows (int64)."""
    return {name: np.full(rows, max(1, number)) for name, number in numbers.items()}


def padded(lists: Sequence[Any], value: int) -> np.ndarray:
    """Return lists as one array, int64, with at least one column."""
    width = max(1, *map(len, lists))
    array = np.full((len(lists), width), value, dtype=np.int64)
    for row, values in zip(array, lists, strict=True):
        row[: len(values)] = values
    return array
