"""Tables of runs by numbers: a row per run, a column per value."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from revocab.closed import Id
from revocab.report import notes
from revocab.report.asked import of_runs
from revocab.report.kind import TableOptions
from revocab.report.references import unknown_runs
from revocab.report.results import Results
from revocab.report.table_parts.rows import run_rows
from revocab.report.table_parts.table import Table
from revocab.report.values.run_value import RunValue

if TYPE_CHECKING:
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment

RANKED = "Best in bold, second underlined; unadapted models are not ranked."


@dataclass(frozen=True)
class Column:
    """A column: its value, its header, and the header above that."""

    header: str
    value: RunValue
    over: str = ""


class ValueTable(TableOptions):
    """Chosen runs and numbers; a kind says which columns it has, and what stands under them."""

    runs: list[Id] = Field(min_length=1)

    @abstractmethod
    def shown(self, experiment: Experiment) -> list[Column]:
        """Return the columns."""

    @abstractmethod
    def said(self, results: Results) -> Iterable[str]:
        """Return what stands under the table of its numbers."""

    def build(self, results: Results) -> Table:
        columns = self.shown(results.experiment)
        rows = run_rows(results, self.runs, [column.value for column in columns])
        upper = ["", *(column.over for column in columns)]
        return Table(
            ["Model", *(column.header for column in columns)],
            rows,
            [
                *dict.fromkeys(self.said(results)),
                RANKED,
                *notes.seeds_of(results, self.runs),
                *notes.synthetic(results),
            ],
            over=upper if any(upper) else None,
        )

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from unknown_runs(experiment, key, self.runs)

    def needs(self, layout: Layout) -> list[str]:
        columns = self.shown(layout.experiment)
        files = [file for column in columns for file in column.value.needs(layout, self.runs)]
        return list(dict.fromkeys(files))

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        columns = self.shown(experiment)
        tasks = [task for column in columns for task in column.value.tasks(experiment)]
        return of_runs(experiment, self.runs, tasks)
