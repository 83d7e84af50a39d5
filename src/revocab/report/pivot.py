"""Tables of numbers of runs: a kind says which value of which run stands where, and no more."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby

from pydantic import Field

from revocab.closed import GroupId, ShownRunId, Step
from revocab.report.annotations import Experiment, Run
from revocab.report.kind import KindOptions, Place, TableOptions
from revocab.report.references import wrong_steps
from revocab.report.results import Results
from revocab.report.runs import RunIndex, method_label
from revocab.report.table import MISSING, Cell, Row, Table, mark_cells, text
from revocab.report.values import RunValue


@dataclass(frozen=True)
class Column:
    """A column: its value, its header, the header above that, and its key in the options."""

    header: str
    value: RunValue
    over: str = ""
    key: str = ""


@dataclass(frozen=True)
class PivotRow:
    """A row: its label, what stands in every column (None: a dash), and the heading above it."""

    label: str
    places: Sequence[Place | None]
    block: str | None = None


@dataclass(frozen=True)
class Pivot:
    """Which value of which run stands in every row and column."""

    header: list[str]
    rows: list[PivotRow]
    over: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, columns: Sequence[Column], rows: list[PivotRow]) -> Pivot:
        header = ["Model", *(column.header for column in columns)]
        return cls(header, rows, [column.over for column in columns])

    def cells(self, results: Results) -> list[list[Cell]]:
        """Return the cells of every row, the best and second of each contest marked."""
        contests: dict[object, list[Cell]] = {}
        rows = []
        for row in self.rows:
            cells = []
            for place in row.places:
                cell = text(MISSING) if place is None else place.value.cell(results, place.run)
                if place is not None and place.contest is not None:
                    contests.setdefault(place.contest, []).append(cell)
                cells.append(cell)
            rows.append(cells)
        for members in contests.values():
            if (better := members[0].better) is not None:
                mark_cells(members, better)
        return rows


class PivotOptions(KindOptions):
    """A table or figure whose every cell is a number of a run."""

    @abstractmethod
    def pivot(self, index: RunIndex) -> Pivot:
        """Return what stands where."""

    def places(self, index: RunIndex) -> Iterator[Place | None]:
        for row in self.pivot(index).rows:
            yield from row.places


class PivotTable(PivotOptions, TableOptions):
    """A table that is a pivot."""

    def build(self, results: Results) -> Table:
        pivot = self.pivot(results)
        labelled = zip(pivot.rows, pivot.cells(results), strict=True)
        rows = with_headings([(row.block, row.label, cells) for row, cells in labelled])
        return Table(pivot.header, rows, over=["", *pivot.over] if any(pivot.over) else None)


def with_headings(rows: Sequence[tuple[str | None, str, Sequence[Cell]]]) -> list[Row]:
    """Return labelled rows, each block below its heading; None: below no heading."""
    headed: list[Row] = []
    for block, members in groupby(rows, key=lambda row: row[0]):
        headed += [] if block is None else [Row(section=block)]
        headed += [Row([text(label), *cells]) for _, label, cells in members]
    return headed


class ValueTable(PivotTable):
    """Chosen runs and numbers; a kind says which columns it has."""

    #: A row each.
    runs: list[ShownRunId] = Field(min_length=1)

    @abstractmethod
    def columns_of(self, index: RunIndex) -> list[Column]:
        """Return the columns."""

    def at_step(self, value: RunValue, run: str) -> RunValue:
        """Return a column's value as it is shown of a run."""
        return value

    def pivot(self, index: RunIndex) -> Pivot:
        """Return a row per run in the order given; where groups differ, under headings of groups.
        Models that no method made are not ranked.
        """
        columns = self.columns_of(index)
        rows = []
        for name, (block, label) in self.labels(index).items():
            run = index.run(name)
            places = [
                Place(self.at_step(c.value, name), run, number if run.made else None, c.key)
                for number, c in enumerate(columns)
            ]
            rows.append(PivotRow(label, places, block or None))
        return Pivot.of(columns, rows)

    def labels(self, index: RunIndex) -> dict[str, tuple[str, str]]:
        """Return the block (empty: none) and the label of each run."""
        runs = [index.run(run) for run in self.runs]
        headed = len({run.group for run in runs}) > 1
        return {
            name: (index.model_label(run) if headed else "", method_label(run))
            for name, run in zip(self.runs, runs, strict=True)
        }


class GroupTable(PivotTable):
    """Numbers of one group's runs at chosen steps."""

    group: GroupId
    #: Checkpoints that are shown, a block each.
    steps: list[Step] = Field(default=["first", "last"])

    @abstractmethod
    def columns_of(self, index: RunIndex) -> list[Column]:
        """Return the columns, whose values have a step."""

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from wrong_steps(experiment, f"{key}.steps", self.group, self.steps)
        for problem in super().problems(experiment, key):
            yield problem.replace(f"{key}.step:", f"{key}.steps:")

    def pivot(self, index: RunIndex) -> Pivot:
        """Return rows of the base model and references, then one block per step, whose rows are
        ranked.
        """
        columns = self.columns_of(index)

        @cache
        def values(step: int) -> list[RunValue]:
            return [column.value.model_copy(update={"step": step}) for column in columns]

        def row(run: Run, step: int, block: str | None = None) -> PivotRow:
            places = [
                Place(value, run, None if block is None else (block, number), column.key)
                for number, (value, column) in enumerate(zip(values(step), columns, strict=True))
            ]
            return PivotRow(method_label(run), places, block)

        rows = [row(run, 0) for run in index.group(self.group) if not run.made]
        for heading, pairs in blocks(index, self.group, self.steps):
            rows += [row(run, step, heading) for run, step in pairs]
        return Pivot.of(columns, rows)


def blocks(
    index: RunIndex, group: str, wanted: Sequence[Step]
) -> Iterator[tuple[str, list[tuple[Run, int]]]]:
    """Yield a heading and (run, step) pairs of a group's evaluated runs: of those that are not
    trained, then of the others for every wanted step.
    """
    adapted = [run for run in index.group(group) if run.made]
    if untrained := [(run, 0) for run in adapted if not run.trains]:
        yield "Not trained", untrained
    headings: set[str] = set()
    for step in dict.fromkeys(wanted):
        pairs = [(run, at) for run in adapted if run.trains for at in run.select([step])]
        steps = sorted({at for _, at in pairs})
        listed = ", ".join(map(str, steps))
        named = f"{str(step).capitalize()} checkpoint ({listed} steps)"
        heading = f"{listed} training steps" if len(steps) == 1 else named
        if steps and heading not in headings:  # "first" and "last" of a run with one checkpoint
            headings.add(heading)
            yield heading, pairs
