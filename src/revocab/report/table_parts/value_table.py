"""Tables of numbers of runs: the one way in which rows and columns of values become a table.

A kind says which runs and values it shows: chosen runs (:class:`ValueTable`), those of a group at
chosen steps (:class:`GroupTable`), or rows of its own (:func:`value_row`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pydantic import Field

from revocab.closed import GroupId, ShownRunId, Step
from revocab.report.annotations import Experiment, Run
from revocab.report.kind import TableOptions
from revocab.report.names import method_label
from revocab.report.results import Results
from revocab.report.table_parts.table import MISSING, Row, Table, mark_columns, text
from revocab.report.values.run_value import RunValue


@dataclass(frozen=True)
class Column:
    """A column: its value, its header, and the header above that."""

    header: str
    value: RunValue
    over: str = ""


def value_row(results: Results, label: str, places: Iterable[tuple[RunValue, Run | None]]) -> Row:
    """Return a row of values, each of a run; a dash where there is no run."""
    cells = [text(MISSING) if run is None else value.cell(results, run) for value, run in places]
    return Row([text(label), *cells])


def table_of(columns: Sequence[Column], rows: list[Row]) -> Table:
    upper = ["", *(column.over for column in columns)]
    header = ["Model", *(column.header for column in columns)]
    return Table(header, rows, over=upper if any(upper) else None)


class ValueTable(TableOptions):
    """Chosen runs and numbers; a kind says which columns it has."""

    #: A row each.
    runs: list[ShownRunId] = Field(min_length=1)

    @abstractmethod
    def shown(self, experiment: Experiment) -> list[Column]:
        """Return the columns."""

    def at_step(self, value: RunValue, run: str) -> RunValue:
        """Return a column's value as it is shown of a run."""
        return value

    def build(self, results: Results) -> Table:
        """Return a row per run in the order given; where groups differ, under headings of groups.

        Models that no method made are not ranked.
        """
        columns = self.shown(results.experiment)
        rows: list[Row] = []
        ranked: list[Row] = []
        for block, members in groupby(self.labelled(results), key=lambda labelled: labelled[1][0]):
            rows += [Row(section=block)] if block else []
            for name, (_, label) in members:
                run = results.run(name)
                values = [(self.at_step(column.value, run.id), run) for column in columns]
                rows.append(value_row(results, label, values))
                ranked += rows[-1:] if run.made else []
        mark_columns(ranked, [column.value.better for column in columns])
        return table_of(columns, rows)

    def labelled(self, results: Results) -> list[tuple[str, tuple[str, str]]]:
        """Return each run with its block (empty: none) and its label."""
        runs = [results.run(run) for run in self.runs]
        headed = len({run.group for run in runs}) > 1
        return [
            (name, (results.model_label(run) if headed else "", method_label(run)))
            for name, run in zip(self.runs, runs, strict=True)
        ]

    def values(self, experiment: Experiment) -> list[tuple[RunValue, Sequence[str]]]:
        return [(column.value, self.runs) for column in self.shown(experiment)]


class GroupTable(TableOptions):
    """Numbers of one group's runs at chosen steps."""

    group: GroupId
    #: Checkpoints that are shown, a block each.
    steps: list[Step] = Field(default=["first", "last"])

    @abstractmethod
    def shown(self, results: Results) -> list[Column]:
        """Return the columns, whose values have a step."""

    def build(self, results: Results) -> Table:
        """Return rows of the base model and references, then one block per step, best and second
        marked within each block.
        """
        columns = self.shown(results)

        def row(run: Run, step: int) -> Row:
            at_step = {"step": step}
            values = [(column.value.model_copy(update=at_step), run) for column in columns]
            return value_row(results, method_label(run), values)

        rows = [row(run, 0) for run in results.group(self.group) if not run.made]
        for heading, pairs in blocks(results, self.group, self.steps):
            block = [row(run, step) for run, step in pairs]
            mark_columns(block, [column.value.better for column in columns])
            rows += [Row(section=heading), *block]
        return table_of(columns, rows)


def blocks(
    results: Results, group: str, wanted: Sequence[Step]
) -> Iterator[tuple[str, list[tuple[Run, int]]]]:
    """Yield a heading and (run, step) pairs of a group's evaluated runs: of those that are not
    trained, then of the others for every wanted step.
    """
    made = [run for run in results.group(group) if run.made]
    untrained = [(run, 0) for run in made if not run.trains]
    if untrained:
        yield "Not trained", untrained
    headings: set[str] = set()
    for step in dict.fromkeys(wanted):
        pairs = [(run, at) for run in made if run.trains for at in run.select([step])]
        steps = sorted({at for _, at in pairs})
        listed = ", ".join(map(str, steps))
        heading = f"{str(step).capitalize()} checkpoint ({listed} steps)"
        if len(steps) == 1:
            heading = f"{listed} training steps"
        if steps and heading not in headings:  # "first" and "last" of a run with one checkpoint
            headings.add(heading)
            yield heading, pairs
