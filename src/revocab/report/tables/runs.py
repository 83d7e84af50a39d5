"""Chosen numbers of chosen runs: what they were trained on, their losses, their scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from revocab.closed import Id
from revocab.report import notes
from revocab.report.asked import of_runs
from revocab.report.kind import KindOptions, TableKind
from revocab.report.references import unknown_runs
from revocab.report.results import Results
from revocab.report.table_parts.run_rows import run_notes, run_rows
from revocab.report.table_parts.table import Table
from revocab.report.values.run_values import OneValue

if TYPE_CHECKING:
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment


class RunsTable(KindOptions):
    """Chosen numbers of chosen runs, a column each."""

    kind: Literal["runs"]
    runs: list[Id] = Field(min_length=1)
    columns: list[OneValue] = Field(min_length=1)

    @model_validator(mode="after")
    def _headers_differ(self) -> RunsTable:
        headers = [column.header for column in self.columns]
        twice = next((one for one in headers if headers.count(one) > 1), None)
        if twice is not None:
            raise ValueError(f"columns: two are called {twice!r}; give one another 'label'")
        return self


def build(results: Results, identifier: str, options: RunsTable) -> Table:
    """Return a row per run."""
    columns = options.columns
    rows = run_rows(
        results,
        options.runs,
        lambda run: [column.value.cell(results, run) for column in columns],
        [column.value.better for column in columns],
    )
    said = [note for column in columns for note in column.value.notes(results, column.header)]
    return Table(
        identifier,
        options.kind,
        options.title,
        ["Model", *[column.header for column in columns]],
        rows,
        [
            *dict.fromkeys(said),
            *run_notes(results, options.runs),
        ],
    )


def problems(experiment: Experiment, key: str, options: RunsTable) -> Iterator[str]:
    """Yield a problem for every run that is not there, and what each column lacks."""
    yield from unknown_runs(experiment, key, options.runs)
    for place, column in enumerate(options.columns):
        where = f"{key}.columns.{place}.{column.name}"
        yield from column.value.problems(experiment, where, options.runs)


def needs(layout: Layout, options: RunsTable) -> list[str]:
    """Return the files behind its columns, each once."""
    files = [one for column in options.columns for one in column.value.needs(layout, options.runs)]
    return list(dict.fromkeys(files))


def scores(experiment: Experiment, options: RunsTable) -> Iterator[tuple[str, str]]:
    """Yield the tasks of its averages."""
    tasks = [task for column in options.columns for task in column.value.tasks(experiment)]
    return of_runs(experiment, options.runs, tasks)


def limited(results: Results, options: RunsTable) -> str | None:
    """Return how scores are limited, where it shows some and not all items were used."""
    tasks = [task for column in options.columns for task in column.value.tasks(results.experiment)]
    return notes.limited_tasks(results, tasks)


TABLE = TableKind(
    options=RunsTable,
    build=build,
    problems=problems,
    needs=needs,
    scores=scores,
    limited=limited,
)
