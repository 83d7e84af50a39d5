"""What statements measure in cells of tables: gains of columns and rows, and means of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from pydantic import Field

from revocab.closed import Id, OneLine, ShownRunId, unknown
from revocab.evaluation.over_seeds import Difference
from revocab.limits import Weight
from revocab.report.annotations import Experiment
from revocab.report.kind import Place as ShownPlace
from revocab.report.paper_claims.measures import Comparison, Measure, Printed, Side, scaled
from revocab.report.pivot import Column, ValueTable
from revocab.report.published import read_published
from revocab.report.references import unknowns
from revocab.report.results import Results
from revocab.report.runs import RunIndex
from revocab.report.table_parts.table import Cell
from revocab.report.tables.languages import ModelsByLanguageTable
from revocab.report.values import cell_difference

#: Of a run in a column: ours, or what is printed.
Number = TypeVar("Number")


def tables_of_runs(experiment: Experiment) -> dict[str, ValueTable]:
    tables = experiment.tables.items()
    return {name: table for name, table in tables if isinstance(table, ValueTable)}


class CellGain(Comparison):
    """The least gain, over rows, of a column over the best of others in a table of models by
    language.
    """

    #: Table that has it.
    table: Id
    rows: list[OneLine] = Field(min_length=1, description="as the table names its rows")
    #: Column that is compared.
    column: OneLine
    over: list[OneLine] = Field(min_length=1, description="columns")

    def printed(self, results: Results) -> list[Printed]:
        cells = results.paper.cells(self.table)
        values = {(cell.row, cell.column): cell.value and cell.value / 100 for cell in cells}
        return [
            ([values.get((row, self.column))], [values.get((row, name)) for name in self.over], [])
            for row in self.rows
        ]

    def differences(self, results: Results) -> list[Difference]:
        options = self._options(results.experiment)
        places = {} if options is None else options.build(results).places()
        cells = {(row, column): cell for (_, row, column), cell in places.items()}
        pairs = [
            (cells.get((row, self.column), Cell()), cells.get((row, column), Cell()))
            for row in self.rows
            for column in self.over
        ]
        found = [cell_difference(*pair) for pair in pairs]
        known = [scaled(each, 1 / 100) for each in found if each is not None]
        return known if len(known) == len(found) else []

    def shown(self, value: float) -> str:
        return f"{100 * value:+.2f}"

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        options = self._options(experiment)
        if options is None:
            tables = experiment.tables.items()
            named = [name for name, table in tables if isinstance(table, ModelsByLanguageTable)]
            yield unknown(f"{key}.table", self.table, named, "table of kind models_by_language")
            return
        yield from unknowns(f"{key}.rows", self.rows, options.row_labels, f"row of {self.table!r}")
        # Models that are not run here may be among the columns of the paper's table.
        printed = read_published(experiment.paper_values).cells(self.table)
        known = [*options.columns, *(cell.column for cell in printed)]
        names = [name for name in (self.column, *self.over) if name not in known]
        yield from unknowns(key, names, options.columns, f"column of {self.table!r}, also printed,")

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        options = self._options(experiment)
        if options is not None:
            yield from options.scores(experiment)

    def _options(self, experiment: Experiment) -> ModelsByLanguageTable | None:
        options = experiment.tables.get(self.table)
        return options if isinstance(options, ModelsByLanguageTable) else None


class RowGain(Comparison):
    """By how much the worst of some rows of a table of runs is better than the best of others, in
    the worst of some columns; in the table's unit, or as a share of the others' number.
    """

    #: Table of chosen runs.
    table: Id
    #: Rows that are better.
    runs: list[ShownRunId] = Field(min_length=1)
    #: Rows that they are compared with.
    over: list[ShownRunId] = Field(min_length=1)
    columns: list[OneLine] = Field(min_length=1, description="by the headers of the table")
    share: bool = Field(default=False, description="as a share of the others' number")

    def printed(self, results: Results) -> list[Printed]:
        printed = {cell.place: cell.value for cell in results.paper.cells(self.table)}
        options = self._options(results.experiment)
        rows = options.labels(results) if options else {}
        sides = []
        for column in self._columns(results.experiment):
            ours, others = (
                [printed.get((*rows.get(run, ("", "")), column.header)) for run in runs]
                for runs in (self.runs, self.over)
            )
            sides.append(self._side(column, ours, others))
        return sides

    def sides(self, results: Results) -> list[Side]:
        found = []
        for column in self._columns(results.experiment):
            ours, others = (
                [(column.value, results.run(run)) for run in runs]
                for runs in (self.runs, self.over)
            )
            found.append(self._side(column, ours, others))
        return found

    def _side(
        self, column: Column, ours: list[Number], others: list[Number]
    ) -> tuple[list[Number], list[Number], list[Number]]:
        whole = others if self.share else []
        return (others, ours, whole) if column.value.better == "lower" else (ours, others, whole)

    def shown(self, value: float) -> str:
        return f"{100 * value:+.1f} %" if self.share else f"{value:+.4g}"

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        options = self._options(experiment)
        if options is None:
            known = tables_of_runs(experiment)
            yield unknown(f"{key}.table", self.table, known, "table of chosen runs")
            return
        yield from unknowns(key, [*self.runs, *self.over], options.runs, f"row of {self.table!r}")
        ranked = [
            column.header for column in options.columns_of(experiment.index) if column.value.better
        ]
        place = f"column of {self.table!r} that has a better value,"
        yield from unknowns(f"{key}.columns", self.columns, ranked, place)

    def places(self, index: RunIndex) -> Iterable[ShownPlace | None]:
        options = self._options(index.experiment)
        return options.places(index) if options else ()

    def _columns(self, experiment: Experiment) -> list[Column]:
        options = self._options(experiment)
        shown = options.columns_of(experiment.index) if options else []
        return [column for column in shown if column.header in self.columns]

    def _options(self, experiment: Experiment) -> ValueTable | None:
        return tables_of_runs(experiment).get(self.table)


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
        known = tables_of_runs(experiment)
        yield from unknowns(f"{key}.tables", self.tables, known, "table of runs")
        paper = read_published(experiment.paper_values)
        for name, table in options.items():
            columns = [column.header for column in table.columns_of(experiment.index)]
            columns += [cell.column for cell in paper.cells(name)]
            place = f"column of {name!r}, also printed,"
            yield from unknowns(key, [self.column, *self.weights], dict.fromkeys(columns), place)

    def places(self, index: RunIndex) -> Iterator[ShownPlace | None]:
        for options in self._options(index.experiment).values():
            yield from options.places(index)

    def _options(self, experiment: Experiment) -> dict[str, ValueTable]:
        tables = tables_of_runs(experiment)
        return {name: tables[name] for name in self.tables if name in tables}

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
