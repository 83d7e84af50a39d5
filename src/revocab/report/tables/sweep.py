"""One value of the runs of a sweep: an axis down, another across."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field

from revocab.closed import GroupId, Id, unknown
from revocab.report.annotations import Experiment
from revocab.report.kind import KindOptions, TableOptions
from revocab.report.results import Results
from revocab.report.table_parts.table import Row, Table, mark_cells
from revocab.report.table_parts.value_table import value_row
from revocab.report.values.one_value import OneValue
from revocab.report.values.run_value import RunValue

#: Id of a run by the values of the rows' and the columns' axis.
Grid = dict[tuple[str, str], str]


class SweepOptions(KindOptions):
    """One value of the runs of a sweep, by two of its axes."""

    group: GroupId
    rows: Id = Field(description="axis")
    columns: Id = Field(description="axis")
    value: OneValue
    where: dict[Id, Id] = Field(
        default_factory=dict, description="values of other axes: runs that have others are left out"
    )

    def grid(self, experiment: Experiment) -> Grid:
        return {pair: run for run, pair in self._chosen(experiment).items()}

    def rows_shown(self, results: Results) -> list[Row]:
        """Return the value at every place, row by row; a dash where no run stands."""
        grid, value = self.grid(results.experiment), self.value.value
        runs = {place: results.run(run) for place, run in grid.items()}
        down, across = values_of(grid)
        return [
            value_row(results, row, [(value, runs.get((row, column))) for column in across])
            for row in down
        ]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        if self.group not in experiment.runs:
            return
        places = places_of(experiment, self.group)
        axes = list(dict.fromkeys(axis for place in places.values() for axis in place))
        of = f"axis of runs of group {self.group!r}"
        wrong = [
            unknown(f"{key}.{name}", axis, axes, of)
            for name, axis in (("rows", self.rows), ("columns", self.columns))
            if axis not in axes
        ]
        if self.rows == self.columns:
            wrong.append(f"{key}.columns: {self.columns!r} is the axis of the rows; name another")
        for axis, value in self.where.items():
            known = {place[axis] for place in places.values() if axis in place}
            if value not in known:
                wrong.append(unknown(f"{key}.where.{axis}", value, known, "value of this axis"))
        yield from wrong
        if wrong:
            return
        chosen = self._chosen(experiment)
        if not chosen:
            yield f"{key}: no run is on both axes and at 'where'; change where"
        taken: dict[tuple[str, str], str] = {}
        for run, pair in chosen.items():
            if pair in taken:
                yield (
                    f"{key}: runs {taken[pair]!r} and {run!r} stand at the same place "
                    f"({', '.join(pair)}); choose with where (their axes: "
                    f"{', '.join(places[run])})"
                )
            taken[pair] = run
        where = f"{key}.value.{self.value.name}"
        yield from self.value.value.problems(experiment, where, list(chosen))

    def values(self, experiment: Experiment) -> list[tuple[RunValue, Sequence[str]]]:
        return [(self.value.value, list(self._chosen(experiment)))]

    def _chosen(self, experiment: Experiment) -> dict[str, tuple[str, str]]:
        return {
            run: (place[self.rows], place[self.columns])
            for run, place in places_of(experiment, self.group).items()
            if {self.rows, self.columns} <= {*place}
            and all(place.get(axis) == value for axis, value in self.where.items())
        }


class SweepTable(SweepOptions, TableOptions):
    """Two axes of a sweep as rows and columns."""

    kind: Literal["sweep"]

    def build(self, results: Results) -> Table:
        _, across = values_of(self.grid(results.experiment))
        rows = self.rows_shown(results)
        if (better := self.value.value.better) is not None:
            mark_cells([cell for row in rows for cell in row.cells[1:]], better)
        return Table([f"{self.rows} / {self.columns}", *across], rows)


def places_of(experiment: Experiment, group: str) -> dict[str, Mapping[str, str]]:
    """Return where the runs of a group stand, the name of a value by axis, in the file's order.

    What ``sweep:`` writes out says it of its runs; a run may say it itself (``axes:``).
    """
    from revocab.experiment.lineage import run_id  # stands on the schema, which needs kinds

    methods = experiment.runs[group].methods
    return {
        run_id(group, run.replicate_of or name): run.axes or {} for name, run in methods.items()
    }


def values_of(grid: Grid) -> tuple[list[str], list[str]]:
    first, second = (list(dict.fromkeys(pair[place] for pair in grid)) for place in (0, 1))
    return first, second


TABLE = SweepTable
