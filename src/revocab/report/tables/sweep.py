"""One value of the runs of a sweep: an axis down, another across."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from revocab.closed import GroupId, Id, unknown
from revocab.report.annotations import Experiment, Run
from revocab.report.kind import Place
from revocab.report.pivot import Pivot, PivotOptions, PivotRow, PivotTable
from revocab.report.runs import RunIndex
from revocab.report.values import OneValue

#: Runs by the values of the rows' and the columns' axis.
Grid = dict[tuple[str, str], Run]


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
        wrong = [
            unknown(f"{key}.{name}", axis, axes, f"axis of runs of group {self.group!r}")
            for name, axis in (("rows", self.rows), ("columns", self.columns))
            if axis not in axes
        ]
        if self.rows == self.columns:
            wrong.append(f"{key}.columns: {self.columns!r} is the axis of the rows; name another")
        yield from wrong
        if wrong:
            return
        chosen = self.runs_on_axes(experiment.index)
        if not chosen:
            yield f"{key}: no run is on both axes; name others"
        taken: Grid = {}
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


TABLE = SweepTable
