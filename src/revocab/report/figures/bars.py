"""One column of tables of runs as bars, a bar for each model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from revocab.closed import Id
from revocab.report.annotations import Experiment, Figure, Layout
from revocab.report.figure_parts.palette import Palette
from revocab.report.figure_parts.style import nothing_yet
from revocab.report.kind import FigureOptions
from revocab.report.names import method_label
from revocab.report.references import unknowns
from revocab.report.results import Results
from revocab.report.table_parts.table import Cell
from revocab.report.tables.runs import RunsTable

#: Light enough for errors and published values to stand out on it; no method's own.
COLOUR = "#8FB4D9"


class BarsFigure(FigureOptions):
    """One column of tables; a model that several of them have stands once."""

    kind: Literal["bars"]
    #: Ids of tables of kind ``runs``, in the order of their bars.
    tables: list[Id] = Field(min_length=1)
    #: The column's header.
    column: str

    def draw(self, results: Results, palette: Palette) -> Figure:
        from matplotlib import pyplot

        cells: dict[str, Cell] = {}
        for name in self.tables:
            cells |= self.cells(results, name)
        size = (7.2, 1.2 + 0.26 * len(cells))
        figure, axes = pyplot.subplots(figsize=size, layout="constrained")
        axes.set_yticks(range(len(cells)), list(cells))
        axes.set_ylim(len(cells) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(self.column)
        for place, cell in enumerate(cells.values()):
            if cell.value is not None:
                error = None if cell.stderr is None else cell.stderr * cell.scale
                axes.barh(place, cell.value * cell.scale, 0.7, xerr=error, color=COLOUR)
            if (published := cell.compared()) is not None:
                axes.vlines(published * cell.scale, place - 0.35, place + 0.35, "black", lw=2)
        if not axes.has_data():
            nothing_yet(axes)
        return figure

    def cells(self, results: Results, name: str) -> dict[str, Cell]:
        from revocab.report.make_tables import build_table

        table, runs = build_table(results, name), self.shown(results.experiment)[name].runs
        rows = [row.cells for row in table.rows if row.section is None]
        place = table.header.index(self.column)
        cells, several = {}, self.several(results)
        for run, row in zip(map(results.run, runs), rows, strict=True):
            model = f"{results.model_label(run)}: " if run.made and several else ""
            cells[f"{model}{method_label(run)}"] = row[place]
        return cells

    def several(self, results: Results) -> bool:
        """Return whether the bars are of several models, which their labels then name."""
        runs = [run for table in self.shown(results.experiment).values() for run in table.runs]
        return len({results.model_label(results.run(run)) for run in runs}) > 1

    def shown(self, experiment: Experiment) -> dict[str, RunsTable]:
        tables = {name: experiment.tables.get(name) for name in self.tables}
        return {name: table for name, table in tables.items() if isinstance(table, RunsTable)}

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        shown = self.shown(experiment)
        known = [name for name, table in experiment.tables.items() if table.kind == "runs"]
        yield from unknowns(f"{key}.tables", self.tables, known, "table of kind runs")
        for name, table in shown.items():
            headers = [column.header for column in table.columns]
            yield from unknowns(f"{key}.column", [self.column], headers, f"column of table {name}")

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        for table in self.shown(experiment).values():
            yield from table.scores(experiment)

    def needs(self, layout: Layout) -> Iterator[str]:
        for table in self.shown(layout.experiment).values():
            yield from table.needs(layout)


FIGURE = BarsFigure
