"""Averages of named lists of tasks, over models of one group or of several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from revocab.closed import Id, OneLine, Step
from revocab.report.annotations import Experiment
from revocab.report.references import unscored_runs
from revocab.report.results import Results
from revocab.report.table_parts.value_table import Column, ValueTable
from revocab.report.values.task_scores import (
    Average,
    metrics_note,
    unknown_choices,
    unknown_task_ids,
)


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

    @model_validator(mode="after")
    def _headers_differ(self) -> CategoriesTable:
        if self.overall in self.categories:
            raise ValueError(f"overall: {self.overall!r} is a category, too; choose another header")
        return self

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(task for tasks in self.categories.values() for task in tasks))

    def shown(self, experiment: Experiment) -> list[Column]:
        lists = {**self.categories, **({self.overall: self.tasks} if self.overall else {})}
        return [
            Column(name, Average(named=tasks, step=self.step, metrics=self.metrics))
            for name, tasks in lists.items()
        ]

    def said(self, results: Results) -> list[str]:
        listed = "; ".join(f"{name}: {', '.join(tasks)}" for name, tasks in self.categories.items())
        return [
            "Unweighted means over the tasks of a category, 0 to 100, ± standard error over items.",
            f"{listed}.",
            *metrics_note(results, self.tasks, self.metrics),
        ]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        for name, tasks in self.categories.items():
            yield from unknown_task_ids(experiment, f"{key}.categories.{name}", tasks)
        yield from unknown_choices(experiment, key, self.metrics)
        yield from unscored_runs(experiment, key, self.runs, self.tasks, self.step)


TABLE = CategoriesTable
