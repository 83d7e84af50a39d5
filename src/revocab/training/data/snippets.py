"""Text for stages that learn from the source model: the same snippet in two tokenizations.

Token Distillation (Dobler et al. 2025): for each new token snippets that contain it are drawn from
the rows that a run was packed with, all of its stages' rows. The student reads a snippet in its own
tokens, the source model in the old ones. Tokens are compared where both tokenizations have come to
the same character.

Suffixes: S snippets, N tokens of the student, M of the source model, B rows of a batch, K snippets
to a row, V vocabulary.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from revocab.errors import RevocabError
from revocab.training.data.packed_rows import PackedRows
from revocab.training.data.tokenizer_pair import Pair, SpanTokenizer, aligned_places

if TYPE_CHECKING:
    from revocab.training.run import Settings
    from revocab.training.stages import StagePlan

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
    """What a stage reads that learns from the source model."""

    windows: Windows
    pair: Pair
    #: New tokens, bool; positions before the first of a snippet are not compared. None: all are.
    new_V: np.ndarray | None
    #: What the manifest says of it.
    described: Mapping[str, Any]

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
        each is compared with, or -1. All int64.
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
        }
        return {name: array.reshape(rows, each, *array.shape[1:]) for name, array in arrays.items()}


def padded(lists: Sequence[Any], value: int) -> np.ndarray:
    """Return lists as one array, int64, with at least one column."""
    width = max(1, *map(len, lists))
    array = np.full((len(lists), width), value, dtype=np.int64)
    for row, values in zip(array, lists, strict=True):
        row[: len(values)] = values
    return array


# --- the rows of a run ----------------------------------------------------------------------------


@dataclass(frozen=True)
class RowsWithSnippets(PackedRows):
    """Packed rows, in whose place some stages read snippets."""

    plan: StagePlan | None = None
    taught: Mapping[int, StageText] = field(default_factory=dict)

    def __getitems__(self, indices: list[int]) -> dict[str, torch.Tensor]:
        """Return a batch of a stage, as :class:`PackedRows` does, or of :meth:`StageText.step`.

        The latter with ``predicted`` [B], the compared tokens of the whole step, and ``following``
        [B], its tokens that follow another.
        """
        assert self.plan is not None  # beside what is taught
        stage = self.plan.index(indices[0] // self.batch_size)
        if stage not in self.taught:
            return super().__getitems__(indices)
        first = indices[0] // self.batch_size * self.batch_size
        begin = first - self.plan.begins[stage] * self.batch_size
        step = self.taught[stage].step(self.tokens, begin, self.batch_size)
        compared, sizes = int((step["aligned"] >= 0).sum()), step["sizes"]
        own = [index - first for index in indices]
        batch = {name: torch.from_numpy(array[own]) for name, array in step.items()}
        batch["predicted"] = torch.full((len(own),), max(1, compared))
        batch["following"] = torch.full((len(own),), max(1, int(np.maximum(sizes - 1, 0).sum())))
        return batch

    def described(self) -> dict[str, Any]:
        return {"distilled": [dict(text.described) for text in self.taught.values()]}

    def timed(self, seconds: Mapping[int, float]) -> dict[str, Any]:
        stages = [
            {
                "stage": text.described["stage"],
                "training_seconds": seconds[number],
                "seconds_per_new_token": seconds[number] / text.described["in_text"],
            }
            for number, text in self.taught.items()
            if number in seconds
        ]
        return {"distilled": stages}

    def bits_per_byte(self, stage: int, loss: float) -> float | None:
        return None if stage in self.taught else super().bits_per_byte(stage, loss)


def with_snippets(
    packed: PackedRows, settings: Settings, model: Path, source: Path, new_V: torch.Tensor | None
) -> PackedRows:
    """Return rows in which stages that learn from the source model have their snippets.

    Raises :class:`RevocabError` where a snippet is longer than a row, and where no new token is in
    the rows.
    """
    taught = {n: stage for n, stage in enumerate(settings.plan.stages) if stage.distil}
    if not taught:
        return packed
    width = packed.sequence_length
    problems = [
        f"stage {stage.name}: distil.snippet: {stage.distil.snippet} tokens, but rows have {width};"
        f" give at most {width}, or pack longer rows"
        for stage in taught.values()
        if stage.distil and stage.distil.snippet > width
    ]
    if problems:
        raise RevocabError(problems)
    pair = Pair(SpanTokenizer(model, width), SpanTokenizer(source, positions_of_model(source)))
    assert new_V is not None  # such stages train new rows
    wanted_V = new_V.numpy().copy()
    wanted_V[[token for token in pair.student.special if token < len(wanted_V)]] = False
    texts = {}
    for number, stage in taught.items():
        assert stage.distil is not None
        windows, ids = around_tokens(
            packed,
            wanted_V,
            length=stage.distil.snippet,
            most=stage.distil.per_token,
            rows=stage.steps * settings.batch_size,
            seed=[settings.seed, number],
        )
        if not len(windows):
            raise RevocabError(
                f"stage {stage.name}: none of the {int(wanted_V.sum())} new tokens is in the packed"
                " rows; pack text of the new vocabulary's language, or leave out distil"
            )
        described = {
            "stage": stage.name,
            "new_tokens": int(wanted_V.sum()),
            "in_text": len(ids),
            "snippets": len(windows),
        }
        print(
            f"stage {stage.name}: {described['in_text']} of {described['new_tokens']} new tokens"
            f" are in the packed rows; {len(windows)} snippets of them",
            file=sys.stderr,
        )
        texts[number] = StageText(windows, pair, wanted_V, described)
    values = {name: getattr(packed, name) for name in PackedRows.__dataclass_fields__}
    return RowsWithSnippets(**values, plan=settings.plan, taught=texts)


def positions_of_model(folder: Path) -> int:
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    return getattr(config.get_text_config(), "max_position_embeddings", None) or sys.maxsize
