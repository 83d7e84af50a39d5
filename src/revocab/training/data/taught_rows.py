"""Packed rows in whose place some stages read snippets in two tokenizations."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from revocab.errors import RevocabError, refuse
from revocab.training.data.packed_rows import PackedRows
from revocab.training.data.snippets import StageText, around_tokens
from revocab.training.data.tokenizer_pair import Pair, SpanTokenizer

if TYPE_CHECKING:
    from revocab.training.run import Settings
    from revocab.training.stage import Stage
    from revocab.training.stages import StagePlan


@dataclass(frozen=True)
class Taught:
    """A lesson, and what manifest and ``timing.json`` say of its stage."""

    stage: Stage
    lesson: StageText
    #: Tokens that the source model reads, for each of the packed rows.
    source_share: float
    #: For the manifest.
    described: Mapping[str, Any]
    #: New tokens that learn.
    new_tokens: int

    def timed(self, seconds: float, steps: int, row_tokens: int) -> dict[str, Any]:
        """Return the times of ``steps`` steps of ``row_tokens`` packed tokens each."""
        each = seconds / steps
        timed = {"stage": self.stage.name, "training_seconds": seconds, "seconds_per_step": each}
        timed["seconds_per_token"] = each / row_tokens
        timed["seconds_per_new_token"] = each * self.stage.steps / self.new_tokens
        return timed


@dataclass(frozen=True)
class TaughtRows(PackedRows):
    """Packed rows, in whose place some stages read lessons."""

    plan: StagePlan | None = None
    taught: Mapping[int, Taught] = field(default_factory=dict)

    def __getitems__(self, indices: list[int]) -> dict[str, torch.Tensor]:
        """Return a batch of a stage, as :class:`PackedRows` does, or of :meth:`StageText.step`."""
        assert self.plan is not None  # beside what is taught
        stage = self.plan.index(indices[0] // self.batch_size)
        if stage not in self.taught:
            return super().__getitems__(indices)
        first = indices[0] // self.batch_size * self.batch_size
        begin = first - self.plan.begins[stage] * self.batch_size
        step = self.taught[stage].lesson.step(self.tokens, begin, self.batch_size)
        own = [index - first for index in indices]
        return {name: torch.from_numpy(array[own]) for name, array in step.items()}

    def described(self) -> dict[str, Any]:
        return {"distilled": [dict(taught.described) for taught in self.taught.values()]}

    def timed(self, stages: Mapping[int, tuple[float, int]]) -> dict[str, Any]:
        row_tokens = self.batch_size * self.sequence_length
        timed = [
            taught.timed(*stages[number], row_tokens)
            for number, taught in self.taught.items()
            if number in stages
        ]
        return {"distilled": timed}

    def bits_per_byte(self, stage: int, loss: float) -> float | None:
        return None if stage in self.taught else super().bits_per_byte(stage, loss)

    def source_share(self, stage: int) -> float:
        return self.taught[stage].source_share if stage in self.taught else 0.0


def with_lessons(
    packed: PackedRows, settings: Settings, model: Path, source: Path, new_V: torch.Tensor | None
) -> PackedRows:
    """Return rows in which stages that learn from the source model have their lessons.

    ``new_V`` says which tokens of the student are new, where a stage trains these alone. Raises
    :class:`RevocabError` where a snippet is longer than a row, and where no new token is in the
    rows.
    """
    stages = {n: stage for n, stage in enumerate(settings.plan.stages) if stage.distil}
    if not stages:
        return packed
    width = packed.sequence_length
    problems = [
        f"stage {stage.name}: distil.snippet: {stage.distil.snippet} tokens, but rows have {width};"
        f" give at most {width}, or pack longer rows"
        for stage in stages.values()
        if stage.distil and stage.distil.snippet > width
    ]
    refuse(problems)
    pair = Pair(SpanTokenizer(model, width), SpanTokenizer(source, positions_of_model(source)))
    taught = {}
    for number in stages:
        assert new_V is not None  # such stages train new rows
        taught[number] = snippets_of(packed, settings, number, pair, new_V)
    values = {name: getattr(packed, name) for name in PackedRows.__dataclass_fields__}
    return TaughtRows(**values, plan=settings.plan, taught=taught)


def snippets_of(
    packed: PackedRows, settings: Settings, number: int, pair: Pair, new_V: torch.Tensor
) -> Taught:
    stage = settings.plan.stages[number]
    assert stage.distil is not None
    wanted_V = new_V.numpy().copy()
    wanted_V[[token for token in pair.student.special if token < len(wanted_V)]] = False
    count = int(wanted_V.sum())
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
            f"stage {stage.name}: none of the {count} new tokens is in the packed"
            " rows; pack text of the new vocabulary's language, or leave out distil"
        )
    counts = {"new_tokens": count, "in_text": len(ids), "snippets": len(windows)}
    print(
        f"stage {stage.name}: {len(ids)} of {count} new tokens"
        f" are in the packed rows; {len(windows)} snippets of them",
        file=sys.stderr,
    )
    text = StageText(windows, pair, wanted_V)
    first = text.step(packed.tokens, 0, packed.batch_size)
    described = {"stage": stage.name, **counts}
    return Taught(stage, text, source_share(packed, first), described, len(ids))


def source_share(packed: PackedRows, first: Mapping[str, np.ndarray]) -> float:
    """Return the tokens that the source model reads for each packed one, by the first step."""
    return float(first["source_sizes"].sum() / (packed.batch_size * packed.sequence_length))


def positions_of_model(folder: Path) -> int:
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    return getattr(config.get_text_config(), "max_position_embeddings", None) or sys.maxsize
