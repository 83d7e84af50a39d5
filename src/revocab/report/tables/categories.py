"""Averages of named lists of tasks, over models of one group or of several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean
from typing import Annotated, Literal

from pydantic import Field, model_validator

from revocab.closed import Closed, Id, OneLine, Step
from revocab.report.annotations import Experiment
from revocab.report.published import PublishedCell
from revocab.report.references import unknowns, unscored_runs
from revocab.report.results import Results
from revocab.report.table_parts.table import OTHERWISE, RECOMPUTED
from revocab.report.table_parts.value_table import Column, ValueTable
from revocab.report.values.task_scores import (
    Average,
    metrics_note,
    unknown_choices,
    unknown_task_ids,
)


class Recomputed(Closed):
    """Columns whose published values are means over more tasks than are scored here."""

    columns: list[OneLine] = Field(min_length=1, description="headers of such columns")
    #: The table of kind categories that has the published values of single tasks.
    table: Id


class CategoriesTable(ValueTable):
    """Averages by category, every task counting alike, and the mean over all their tasks."""

    kind: Literal["categories"]
    #: Checkpoint that is shown.
    step: Step = "last"
    metrics: dict[Id, OneLine] = Field(
        default_factory=dict,
        description="metrics of generation tasks, instead of their kind's first",
    )
    #: Columns: the tasks of which each is the mean.
    categories: dict[OneLine, Annotated[list[Id], Field(min_length=1)]] = Field(min_length=1)
    overall: OneLine | None = Field(
        default=None, description="header of a column over all their tasks; default: no such column"
    )
    recomputed: Recomputed | None = Field(
        default=None,
        description="columns whose published means are computed anew over the tasks scored here",
    )

    @model_validator(mode="after")
    def _headers_differ(self) -> CategoriesTable:
        if self.overall in self.categories:
            raise ValueError(f"overall: {self.overall!r} is a category, too; choose another header")
        return self

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(task for tasks in self.categories.values() for task in tasks))

    @property
    def tasks_of_columns(self) -> dict[str, list[str]]:
        return {**self.categories, **({self.overall: self.tasks} if self.overall else {})}

    def shown(self, experiment: Experiment) -> list[Column]:
        return [
            Column(name, Average(named=tasks, step=self.step, metrics=self.metrics))
            for name, tasks in self.tasks_of_columns.items()
        ]

    def published(self, results: Results, identifier: str) -> list[PublishedCell]:
        """Return the published values, those of recomputed columns as means over the tasks here.

        A mean that lacks a task's published value stays as it is printed, and is not compared.
        """
        cells = super().published(results, identifier)
        if self.recomputed is None:
            return cells
        source = results.experiment.tables[self.recomputed.table]
        assert isinstance(source, CategoriesTable)  # else `problems` refuses it
        single = {tasks[0]: name for name, tasks in source.categories.items() if len(tasks) == 1}
        printed = {cell.place: cell.value for cell in results.paper.cells(self.recomputed.table)}

        def over_shared(cell: PublishedCell) -> PublishedCell:
            columns = [single.get(task, "") for task in self.tasks_of_columns[cell.column]]
            values = [printed.get((cell.block, cell.row, column)) for column in columns]
            known = [value for value in values if value is not None]
            if len(known) < len(values):
                return replace(cell, mark=OTHERWISE)
            return replace(cell, value=fmean(known), mark=RECOMPUTED)

        chosen = self.recomputed.columns
        return [over_shared(cell) if cell.column in chosen else cell for cell in cells]

    def said(self, results: Results) -> list[str]:
        listed = "; ".join(f"{name}: {', '.join(tasks)}" for name, tasks in self.categories.items())
        return [
            "Unweighted means over the tasks of a category, 0 to 100, ± standard error over items.",
            f"{listed}.",
            *metrics_note(results, self.tasks, self.metrics),
        ]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        if self.recomputed is not None:
            known = [
                name
                for name, table in experiment.tables.items()
                if isinstance(table, CategoriesTable)
            ]
            place, named = f"{key}.recomputed", [self.recomputed.table]
            yield from unknowns(f"{place}.table", named, known, "table of kind categories")
            columns = self.recomputed.columns
            yield from unknowns(f"{place}.columns", columns, self.tasks_of_columns, "column")
        for name, tasks in self.categories.items():
            yield from unknown_task_ids(experiment, f"{key}.categories.{name}", tasks)
        yield from unknown_choices(experiment, key, self.metrics)
        yield from unscored_runs(experiment, key, self.runs, self.tasks, self.step)


TABLE = CategoriesTable
