"""Named columns, each the micro-average of a list of tasks: every item counts alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from revocab.closed import OneLine
from revocab.report.kind import TableKind
from revocab.report.tables.categories import (
    TaskLists,
    Tasks,
    limited,
    problems,
    scores,
    table_of_means,
)
from revocab.report.values.task_means import micro

if TYPE_CHECKING:
    from revocab.report.results import Results
    from revocab.report.table_parts.table import Table


class CompositeTable(TaskLists):
    """Micro-averages of named lists of tasks."""

    listed: ClassVar[str] = "columns"

    kind: Literal["composite"]
    columns: dict[OneLine, Tasks] = Field(min_length=1)


def build(results: Results, identifier: str, options: CompositeTable) -> Table:
    """Return a row per model; a cell is the mean over the items of all tasks of its column."""
    said = "Means over the items of a column's tasks, 0 to 100, ± standard error: a task counts by "
    return table_of_means(results, identifier, options, micro, f"{said}its items.")


TABLE = TableKind(
    options=CompositeTable, build=build, problems=problems, scores=scores, limited=limited
)
