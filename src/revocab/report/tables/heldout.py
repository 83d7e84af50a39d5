"""Held-out losses of chosen runs by language and step, and the steps to reach a given loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from revocab.closed import Id, Step, unknown
from revocab.languages import language_label
from revocab.report.kind import KindOptions, TableKind
from revocab.report.references import unknown_runs
from revocab.report.results import Results
from revocab.report.results.heldout_losses import (
    counted_files,
    heldout_curve,
    heldout_problems,
    languages_shown,
    loss_at,
    steps_to_reach,
    text_languages,
    unit,
    unit_note,
    unmeasured_steps,
)
from revocab.report.table_parts.empty_cells import empty_cells
from revocab.report.table_parts.run_rows import run_notes, run_rows
from revocab.report.table_parts.table import MISSING, Cell, Table, text

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment

#: Decimals of a loss: methods differ in the third.
DIGITS = 3


class HeldoutTable(KindOptions):
    """Held-out losses of chosen runs."""

    kind: Literal["heldout"]
    runs: list[Id] = Field(min_length=1)
    languages: list[Id] | None = Field(
        default=None, min_length=1, description="default: those of all held-out text"
    )
    steps: list[Step] = Field(default=["first", "last"], min_length=1)
    reference: Id | None = Field(
        default=None, description="tokenizer in whose tokens losses are shown next to bits per byte"
    )
    reach: dict[Id, list[Annotated[float, Field(gt=0)]]] = Field(
        default_factory=dict, description="losses in bits per byte by language: steps to reach them"
    )
    interpolate: bool = Field(
        default=True, description="between measured steps; else the first that is at or below"
    )


@dataclass(frozen=True)
class Column:
    """A column: a loss at a step in one unit, or the steps to reach a loss."""

    language: str
    step: Step | None = None
    reference: str | None = None
    reach: float | None = None

    @property
    def over(self) -> str:
        """Return the upper header."""
        shown = language_label(self.language)
        return f"{shown}, {unit(self.reference)}" if self.reach is None else shown

    @property
    def header(self) -> str:
        """Return the header."""
        if self.reach is not None:
            return f"steps to {self.reach:g}"
        return f"{self.step} steps" if isinstance(self.step, int) else f"{self.step} checkpoint"


def columns_of(results: Results, options: HeldoutTable) -> list[Column]:
    """Return the columns by language: losses in every unit, then steps to reach losses."""
    references = [None, options.reference] if options.reference else [None]
    found: list[Column] = []
    for language in languages_shown(results, options.languages):
        found += [Column(language, step, one) for one in references for step in options.steps]
        found += [Column(language, reach=loss) for loss in options.reach.get(language, ())]
    return found


def build(results: Results, identifier: str, options: HeldoutTable) -> Table:
    """Return a row per run; the lowest loss of a column is the best."""
    columns = columns_of(results, options)

    def cells(run: Run) -> list[Cell]:
        return [cell(results, run, column, options) for column in columns]

    rows = run_rows(results, options.runs, cells, ["lower"] * len(columns))
    languages = list(dict.fromkeys(column.language for column in columns))
    return Table(
        identifier,
        options.kind,
        options.title,
        ["Model", *[column.header for column in columns]],
        rows,
        [
            unit_note(languages, None),
            *([unit_note(languages, options.reference)] if options.reference else []),
            *([reach_note(options)] if options.reach else []),
            *run_notes(results, options.runs),
        ],
        over=["", *[column.over for column in columns]],
    )


def cell(results: Results, run: Run, column: Column, options: HeldoutTable) -> Cell:
    """Return a run's loss, or its steps to reach one; "> 20" where 20 steps do not reach it."""
    curve = heldout_curve(results, run, column.language, column.reference)
    provenance = results.heldout(run)[1]
    if column.reach is None:
        assert column.step is not None  # a column has one or the other
        loss = loss_at(run, curve, column.step)
        if loss is None and isinstance(column.step, int) and column.step not in run.steps:
            return text(MISSING)  # measured of other runs
        return Cell(loss, digits=DIGITS, provenance=provenance)
    if not run.trains:
        return text(MISSING)
    found = steps_to_reach(curve, column.reach, options.interpolate)
    if found is None and curve:
        return text(f"> {max(curve)}", provenance)
    return Cell(found, digits=1 if options.interpolate else 0, provenance=provenance)


def reach_note(options: HeldoutTable) -> str:
    """Return the sentence on how steps to reach a loss are counted."""
    how = (
        "interpolated linearly between the steps at which it was measured"
        if options.interpolate
        else "the first measured step at or below it"
    )
    return f'Steps to a loss in bits per byte: {how}; ">": not reached by the run\'s last step.'


def problems(experiment: Experiment, key: str, options: HeldoutTable) -> Iterator[str]:
    """Yield a problem for runs, languages, steps and a tokenizer that are not there."""
    yield from unknown_runs(experiment, key, options.runs)
    yield from heldout_problems(experiment, key, options.languages, options.reference)
    yield from unmeasured_steps(experiment, f"{key}.steps", options.runs, options.steps)
    shown = options.languages or text_languages(experiment)
    for language in options.reach:
        if language not in shown:
            yield unknown(f"{key}.reach", language, set(shown), "language of the table")


def needs(layout: Layout, options: HeldoutTable) -> list[str]:
    """Return the counts of the reference tokenizer."""
    return counted_files(layout, options.runs, options.reference)


TABLE = TableKind(
    options=HeldoutTable, build=build, problems=problems, needs=needs, check=empty_cells
)
