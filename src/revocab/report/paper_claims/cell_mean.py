"""Whether a column of tables is the mean of others: by how much it is not, in the worst row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from pydantic import Field

from revocab.closed import Id, OneLine
from revocab.limits import Weight
from revocab.report.annotations import Experiment
from revocab.report.paper_claims.measures import Measure
from revocab.report.published import PaperValues
from revocab.report.references import unknowns
from revocab.report.results import Results
from revocab.report.table_parts.value_table import ValueTable

#: A row of a table: table, block, first cell.
Place = tuple[str, str, str]


class CellMean(Measure):
    """The greatest distance, over the rows of tables of runs, of a column from the weighted mean of
    others. Rows that lack one of the columns say nothing.
    """

    #: Tables that have it.
    tables: list[Id] = Field(min_length=1)
    #: Column of which the mean is taken.
    column: OneLine
    weights: dict[OneLine, Weight] = Field(
        min_length=1, description="columns and what they weigh in the mean, such as their tasks"
    )

    def published(self, results: Results) -> float | None:
        printed = results.paper.cells
        return self._distance(
            ((name, cell.block, cell.row), cell.column, cell.value)
            for name in self.tables
            for cell in printed(name)
        )

    def ours(self, results: Results) -> float | None:
        return self._distance(
            ((name, block, row), column, cell.value)
            for name, options in self._options(results.experiment).items()
            for (block, row, column), cell in options.build(results).places().items()
        )

    def shown(self, value: float) -> str:
        return f"{100 * value:.2f}"

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        options = self._options(experiment)
        tables = experiment.tables.items()
        known = [name for name, table in tables if isinstance(table, ValueTable)]
        yield from unknowns(f"{key}.tables", self.tables, known, "table of runs")
        paper = PaperValues(experiment.paper_values)
        for name, table in options.items():
            columns = [column.header for column in table.shown(experiment)]
            columns += [cell.column for cell in paper.cells(name)]
            place = f"column of {name!r}, also printed,"
            yield from unknowns(key, [self.column, *self.weights], dict.fromkeys(columns), place)

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        for options in self._options(experiment).values():
            yield from options.scores(experiment)

    def _options(self, experiment: Experiment) -> dict[str, ValueTable]:
        tables = ((name, experiment.tables.get(name)) for name in self.tables)
        return {name: table for name, table in tables if isinstance(table, ValueTable)}

    def _distance(self, cells: Iterable[tuple[Place, str, float | None]]) -> float | None:
        """Return the distance in fractions of 100 points; None where no row has all columns."""
        rows: dict[Place, dict[str, float]] = {}
        for place, column, value in cells:
            if value is not None:
                rows.setdefault(place, {})[column] = value
        needed = {self.column, *self.weights}
        distances = [
            abs(row[self.column] - self._mean(row)) / 100
            for row in rows.values()
            if needed <= row.keys()
        ]
        return max(distances, default=None)

    def _mean(self, row: Mapping[str, float]) -> float:
        weighed = (weight * row[column] for column, weight in self.weights.items())
        return math.fsum(weighed) / math.fsum(self.weights.values())
