"""Numbers of runs: any of chosen runs, held-out losses by step, one by two axes of a sweep."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any, Literal

from pydantic import Field, model_validator

from revocab.closed import Closed, GroupId, HeldoutLanguage, Id, OneLine, ShownRunId, Step
from revocab.languages import language_label
from revocab.report.annotations import Experiment, Run
from revocab.report.kind import Place
from revocab.report.pivot import Column, Pivot, PivotOptions, PivotRow, PivotTable, ValueTable
from revocab.report.published import PublishedCell
from revocab.report.references import unknowns, without_heldout_text
from revocab.report.results import Results
from revocab.report.runs import RunIndex, text_languages
from revocab.report.table import OTHERWISE, RECOMPUTED
from revocab.report.values import HeldoutLoss, OneValue, RunValue


class Recomputed(Closed):
    """Columns whose published values are means over more tasks than are scored here."""

    columns: list[OneLine] = Field(min_length=1, description="headers of such columns")
    #: The table of runs that has the published values of single tasks.
    table: Id


class RunsTable(ValueTable):
    """Chosen numbers of chosen runs, a column each."""

    kind: Literal["runs"]
    columns: list[OneValue] = Field(min_length=1)
    steps: dict[ShownRunId, Step] = Field(
        default_factory=dict,
        description="checkpoints of runs that are not shown at the step of the columns",
    )
    recomputed: Recomputed | None = Field(
        default=None,
        description="columns whose published means are computed anew over the tasks scored here",
    )

    @model_validator(mode="after")
    def _headers_differ(self) -> RunsTable:
        headers = [column.header for column in self.columns]
        if twice := next((name for name in headers if headers.count(name) > 1), None):
            raise ValueError(f"columns: two are called {twice!r}; give one another 'label'")
        return self

    def columns_of(self, index: RunIndex) -> list[Column]:
        return [
            Column(column.header, column.value, key=f"columns.{place}.{column.name}")
            for place, column in enumerate(self.columns)
        ]

    def at_step(self, value: RunValue, run: str) -> RunValue:
        if run not in self.steps or "step" not in type(value).model_fields:
            return value
        return value.model_copy(update={"step": self.steps[run]})

    @property
    def means(self) -> dict[str, list[str]]:
        """Return the tasks of columns that are means of named ones."""
        averages = {column.header: column.average for column in self.columns}
        return {name: mean.named for name, mean in averages.items() if mean and mean.named}

    def published(self, results: Results, identifier: str) -> list[PublishedCell]:
        """Return the published values, those of recomputed columns as means over the tasks here. A
        mean that lacks a task's published value stays as it is printed, and is not compared.
        """
        cells = super().published(results, identifier)
        if self.recomputed is None:
            return cells
        source = results.experiment.tables[self.recomputed.table]
        assert isinstance(source, RunsTable)  # else `problems` refuses it
        single = {tasks[0]: name for name, tasks in source.means.items() if len(tasks) == 1}
        printed = {cell.place: cell.value for cell in results.paper.cells(self.recomputed.table)}
        for number, cell in enumerate(cells):
            if cell.column in self.recomputed.columns:
                columns = [single.get(task, "") for task in self.means[cell.column]]
                values = [printed.get((cell.block, cell.row, column)) for column in columns]
                known = [value for value in values if value is not None]
                changes: dict[str, Any] = {"mark": OTHERWISE}
                if len(known) == len(values):
                    changes = {"value": fmean(known), "mark": RECOMPUTED}
                cells[number] = cell.model_copy(update=changes)
        return cells

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from unknowns(f"{key}.steps", self.steps, self.runs, "run of the table")
        if self.recomputed is not None:
            tables = experiment.tables.items()
            known = [name for name, table in tables if isinstance(table, RunsTable)]
            place, named = f"{key}.recomputed", [self.recomputed.table]
            yield from unknowns(f"{place}.table", named, known, "table of kind runs")
            yield from unknowns(f"{place}.columns", self.recomputed.columns, self.means, "mean")
        yield from super().problems(experiment, key)


class HeldoutTable(ValueTable):
    """Held-out losses of chosen runs."""

    kind: Literal["heldout"]
    languages: list[HeldoutLanguage] | None = Field(
        default=None, min_length=1, description="default: those of all held-out text"
    )
    #: Columns.
    steps: list[Step] = Field(default=["first", "last"], min_length=1)

    def columns_of(self, index: RunIndex) -> list[Column]:
        return [
            Column(
                f"{step} steps" if isinstance(step, int) else f"{step} checkpoint",
                HeldoutLoss(language=language, step=step),
                f"{language_label(language)}, bits per byte",
            )
            for language in self.languages or text_languages(index.experiment)
            for step in self.steps
        ]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from without_heldout_text(experiment, key)
        for problem in super().problems(experiment, key):
            yield problem.replace(f"{key}.step:", f"{key}.steps:")


class SweepOptions(PivotOptions):
    """One value of the runs of a sweep, by two of its axes."""

    group: GroupId
    rows: Id = Field(description="axis")
    columns: Id = Field(description="axis")
    value: OneValue

    def pivot(self, index: RunIndex) -> Pivot:
        """Return the value at every place; a dash where no run stands."""
        grid = {pair: run for run, pair in self.runs_on_axes(index).items()}
        across = list(dict.fromkeys(column for _, column in grid))

        def place(row: str, column: str) -> Place | None:
            run, key = grid.get((row, column)), f"value.{self.value.name}"
            return None if run is None else Place(self.value.value, run, self.group, key)

        rows = [
            PivotRow(row, [place(row, column) for column in across])
            for row in dict.fromkeys(row for row, _ in grid)
        ]
        return Pivot([f"{self.rows} / {self.columns}", *across], rows)

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        runs = experiment.index.group(self.group, evaluated=False)
        axes = list(dict.fromkeys(axis for run in runs for axis in run.axes))
        about = f"axis of runs of group {self.group!r}"
        wrong = [*unknowns(f"{key}.rows", [self.rows], axes, about)]
        wrong += unknowns(f"{key}.columns", [self.columns], axes, about)
        if self.rows == self.columns:
            wrong.append(f"{key}.columns: {self.columns!r} is the axis of the rows; name another")
        yield from wrong
        if wrong:
            return
        chosen = self.runs_on_axes(experiment.index)
        if not chosen:
            yield f"{key}: no run is on both axes; name others"
        taken: dict[tuple[str, str], Run] = {}
        for run, pair in chosen.items():
            if pair in taken:
                yield (
                    f"{key}: runs {taken[pair].id!r} and {run.id!r} stand at the same place "
                    f"({', '.join(pair)}; their axes: {', '.join(run.axes)}); part them by group"
                )
            taken[pair] = run
        yield from super().problems(experiment, key)

    def runs_on_axes(self, index: RunIndex) -> dict[Run, tuple[str, str]]:
        """Return the runs with their values on both axes, in the file's order."""
        return {
            run: (run.axes[self.rows], run.axes[self.columns])
            for run in index.group(self.group, evaluated=False)
            if {self.rows, self.columns} <= run.axes.keys()
        }


class SweepTable(SweepOptions, PivotTable):
    """Two axes of a sweep as rows and columns."""

    kind: Literal["sweep"]


TABLE = (RunsTable, HeldoutTable, SweepTable)
