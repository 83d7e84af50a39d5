"""Averages of named lists of tasks, over models of one group or of several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from revocab.closed import Id, OneLine, Step
from revocab.report import notes
from revocab.report.asked import of_runs
from revocab.report.kind import KindOptions, TableKind
from revocab.report.references import unknown_runs, unscored_runs
from revocab.report.results import Results
from revocab.report.table_parts.run_rows import run_notes, run_rows
from revocab.report.table_parts.table import MISSING, Cell, Table, text
from revocab.report.values.task_means import (
    Mean,
    macro,
    mean_cell,
    metrics_note,
    unknown_choices,
    unknown_task_ids,
)

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.schema import Experiment

#: Task ids, at least one.
Tasks = Annotated[list[Id], Field(min_length=1)]


class TaskLists(KindOptions):
    """What tables of means over lists of tasks have in common."""

    #: The key that has the lists.
    listed: ClassVar[str]

    runs: list[Id] = Field(min_length=1)
    step: Step = "last"
    metrics: dict[Id, OneLine] = Field(
        default_factory=dict,
        description="metrics of generation tasks, instead of their kind's first",
    )

    def named(self) -> dict[str, list[str]]:
        """Return the lists that the file names, by the headers of their columns."""
        return dict(getattr(self, self.listed))

    def lists(self) -> dict[str, list[str]]:
        """Return the tasks of every column, by its header."""
        return self.named()


class CategoriesTable(TaskLists):
    """Averages by category, every task counting alike, and the mean over all their tasks."""

    listed: ClassVar[str] = "categories"

    kind: Literal["categories"]
    categories: dict[OneLine, Tasks] = Field(min_length=1)
    overall: OneLine | None = Field(
        default=None, description="header of a column over all their tasks; default: no such column"
    )

    @model_validator(mode="after")
    def _headers_differ(self) -> CategoriesTable:
        if self.overall in self.categories:
            raise ValueError(f"overall: {self.overall!r} is a category, too; choose another header")
        return self

    def lists(self) -> dict[str, list[str]]:
        """Return the categories, and all their tasks, each once."""
        tasks = list(dict.fromkeys(task for one in self.categories.values() for task in one))
        return {**self.categories, **({self.overall: tasks} if self.overall else {})}


def build(results: Results, identifier: str, options: CategoriesTable) -> Table:
    """Return a row per model, a column per category."""
    said = "Unweighted means over the tasks of a category, 0 to 100, ± standard error over items"
    return table_of_means(results, identifier, options, macro, f"{said}.")


def table_of_means(
    results: Results, identifier: str, options: TaskLists, mean: Mean, said: str
) -> Table:
    """Return a row per model and a column per list of tasks, with a note on the mean."""
    lists = options.lists()

    def cells(run: Run) -> list[Cell]:
        if not run.evaluate:
            return [text(MISSING)] * len(lists)
        return [
            mean_cell(results, run, options.step, tasks, options.metrics, mean)
            for tasks in lists.values()
        ]

    listed = "; ".join(f"{name}: {', '.join(tasks)}" for name, tasks in options.named().items())
    named = [task for tasks in lists.values() for task in tasks]
    return Table(
        identifier,
        options.kind,
        options.title,
        ["Model", *lists],
        run_rows(results, options.runs, cells, ["higher"] * len(lists)),
        [
            said,
            f"{listed}.",
            *metrics_note(results, named, options.metrics),
            *run_notes(results, options.runs),
        ],
    )


def problems(experiment: Experiment, key: str, options: TaskLists) -> Iterator[str]:
    """Yield a problem for runs and tasks that are not there, and runs that are not scored."""
    yield from unknown_runs(experiment, key, options.runs)
    tasks: set[str] = set()
    for name, one in options.named().items():
        yield from unknown_task_ids(experiment, f"{key}.{options.listed}.{name}", one)
        tasks |= set(one)
    yield from unknown_choices(experiment, key, options.metrics)
    yield from unscored_runs(experiment, key, options.runs, tasks, options.step)


def scores(experiment: Experiment, options: TaskLists) -> Iterator[tuple[str, str]]:
    """Yield every task of every list."""
    tasks = [task for one in options.lists().values() for task in one]
    return of_runs(experiment, options.runs, tasks)


def limited(results: Results, options: TaskLists) -> str | None:
    """Return how scores are limited, where not all items were used."""
    return notes.limited_tasks(results, [one for part in options.lists().values() for one in part])


TABLE = TableKind(
    options=CategoriesTable, build=build, problems=problems, scores=scores, limited=limited
)
