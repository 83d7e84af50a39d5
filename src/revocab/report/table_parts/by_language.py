"""Tables with a row per language: scores or losses of models, and their changes against a base."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from pydantic import Field, model_validator

from revocab.closed import Id, OneLine, Step
from revocab.evaluation.metric import COMET_METRICS
from revocab.languages import language_label
from revocab.report.annotations import Experiment, Run
from revocab.report.kind import TableOptions
from revocab.report.references import choices_in
from revocab.report.results import Results
from revocab.report.table_parts.table import MISSING, Cell, Row, Table, mark_cells, text
from revocab.report.table_parts.value_table import value_row
from revocab.report.values.losses import HeldoutLoss
from revocab.report.values.run_value import RunValue
from revocab.report.values.task_scores import Average

#: Kind of the generative tasks that translate.
TRANSLATION = "translation"


@dataclass(frozen=True)
class Head:
    """A column with a value: its header, that of the column with its change, if it has one, and
    the header above both.
    """

    name: str
    change: str | None = None
    over: str = ""


@dataclass(frozen=True)
class LanguageRow:
    """A language's run in every column (None: no such run), which of them can be the best, and the
    run that changes are from.
    """

    language: str
    runs: Sequence[Run | None]
    ranked: Sequence[bool]
    base: Run | None


@dataclass(frozen=True)
class Languages:
    """A table laid out: its columns, and its rows in blocks, each below a heading or below none."""

    heads: Sequence[Head]
    blocks: Sequence[tuple[str | None, Sequence[LanguageRow]]]
    #: The heading above rows of means, and of each over how many of the first languages it is.
    averages_heading: str | None
    averages: dict[str, int]


class LanguageTable(TableOptions):
    """What stands for a language, of models that a kind names.

    Of family, into, out_of and heldout, what is given; else the mean of all multiple-choice tasks.
    """

    #: Checkpoint that is shown.
    step: Step = "last"
    family: Id | None = Field(default=None, description="family of multiple-choice tasks")
    into: Id | None = Field(default=None, description="translation into this language")
    out_of: Id | None = Field(default=None, description="translation out of this language")
    taught: bool = Field(
        default=False, description="translations asked as their corpora teach; default: the others"
    )
    heldout: Literal[True] | None = Field(default=None, description="held-out bits per byte")
    metrics: dict[Id, OneLine] = Field(
        default_factory=dict,
        description="metrics of generation tasks, instead of their kind's first",
    )
    change: Literal["difference", "percent"] | None = Field(
        default=None, description="columns with the change against the base model; default: no such"
    )

    @model_validator(mode="after")
    def _one_score(self) -> LanguageTable:
        names = ("family", "into", "out_of", "heldout")
        chosen = [name for name in names if getattr(self, name) is not None]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} are given; give one of {', '.join(names)}")
        return self

    @abstractmethod
    def laid_out(self, results: Results) -> Languages:
        """Return the columns and rows, and the runs in them."""

    def tasks(self, experiment: Experiment, language: str) -> list[str]:
        if self.heldout:
            return []
        if self.into is None and self.out_of is None:
            return choices_in(experiment, language, [self.family] if self.family else None)
        pair = [language, self.into] if self.into else [self.out_of, language]
        return [
            name
            for name, task in experiment.evaluation.generation.tasks.items()
            if task.kind == TRANSLATION
            and list(task.direction) == pair
            and (task.taught_by is not None) == self.taught
        ]

    def metrics_shown(self, experiment: Experiment) -> dict[str, str]:
        """Return the metrics of tasks that do not have the first of their kind."""
        return self.metrics

    def may_be_empty(self, results: Results) -> bool:
        """Return whether all of it is of a metric whose model the experiment does not name."""
        metrics = set(self.metrics_shown(results.experiment).values())
        unmeasured = {metric.name for metric in COMET_METRICS.values()} - {*results.comet_metrics}
        return bool(metrics) and not metrics - unmeasured

    def without_tasks(self, experiment: Experiment, key: str, language: str) -> Iterator[str]:
        if self.tasks(experiment, language):
            return
        if self.into or self.out_of:
            way = f"into {self.into!r}" if self.into else f"out of {self.out_of!r}"
            wanted = f"translation {way}{' with taught_by' if self.taught else ''}"
        else:
            wanted = "multiple-choice task" + (f" of family {self.family!r}" if self.family else "")
        yield f"{key}: language {language!r} has no {wanted}; add one"

    def value(self, experiment: Experiment, language: str) -> RunValue:
        if self.heldout:
            return HeldoutLoss(language=language, step=self.step)
        tasks, metrics = self.tasks(experiment, language), self.metrics_shown(experiment)
        return Average(named=tasks, step=self.step, metrics=metrics)

    def build(self, results: Results) -> Table:
        """Return a row per language, and means over languages; the best of a row is marked."""
        shown = self.laid_out(results)
        values: list[list[Cell]] = []
        rows: list[Row] = []
        for heading, languages in shown.blocks:
            rows += [] if heading is None else [Row(section=heading)]
            for row in languages:
                value = self.value(results.experiment, row.language)
                places = [(value, run) for run in (*row.runs, row.base)]
                name, *cells, base = value_row(results, language_label(row.language), places).cells
                ranked = [cell for cell, best in zip(cells, row.ranked, strict=True) if best]
                mark_cells(ranked, "lower" if self.heldout else "higher")
                values.append([*cells, base])
                rows.append(Row([name, *self._with_changes(shown.heads, cells, base)]))
        if shown.averages and shown.averages_heading is not None:
            rows.append(Row(section=shown.averages_heading))
        for label, count in shown.averages.items():
            *means, base = average_cells(values[:count])
            rows.append(Row([text(label), *self._with_changes(shown.heads, means, base)]))
        columns = [
            (name, head.over) for head in shown.heads for name in (head.name, head.change) if name
        ]
        header = ["Language", *(name for name, _ in columns)]
        over = ["", *(over for _, over in columns)]
        return Table(header, rows, over=over if any(over) else None)

    def _with_changes(self, heads: Sequence[Head], cells: Sequence[Cell], base: Cell) -> list[Cell]:
        """Return the cells, each followed by its change from the base's value, in its unit or in
        per cent of it, where its column has one.
        """
        shown = []
        for head, cell in zip(heads, cells, strict=True):
            shown.append(cell)
            if head.change is None:
                continue
            undefined = self.change == "percent" and base.value == 0
            if cell.text is not None or undefined:
                shown.append(text(MISSING))
                continue
            change = Cell(published_mark=cell.published_mark, provenance=cell.provenance)
            if cell.value is not None and base.value is not None:
                change.value = cell.value - base.value
                if self.change == "percent":
                    change.value = 100 * change.value / base.value
                else:
                    change.digits = cell.digits
            shown.append(change)
        return shown


def average_cells(rows: Sequence[Sequence[Cell]]) -> list[Cell]:
    means = []
    for column in zip(*rows, strict=True):
        values = [cell.value for cell in column if cell.value is not None]
        mark = max(cell.published_mark for cell in column)
        if any(cell.text is not None for cell in column):
            means.append(text(MISSING))
        elif len(values) < len(column):
            means.append(Cell(published_mark=mark))
        else:
            means.append(replace(mean_cell(column), published_mark=mark))
    return means


def mean_cell(cells: Sequence[Cell]) -> Cell:
    """Return the mean of values with its error, items being independent and seeds the same."""
    errors = [cell.stderr for cell in cells if cell.stderr is not None]
    spreads = [cell.deviation for cell in cells if cell.deviation is not None]
    return Cell(
        fmean(cell.value or 0.0 for cell in cells),
        math.hypot(*errors) / len(cells) if len(errors) == len(cells) else None,
        digits=cells[0].digits,
        deviation=fmean(spreads) if len(spreads) == len(cells) else None,
        seeds=min((cell.seeds for cell in cells if cell.seeds), default=None),
    )
