"""Bars of what tables show: one column of tables of runs, and tables of models by language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from revocab.closed import Id
from revocab.languages import language_label
from revocab.report.annotations import Axes, Experiment, Figure
from revocab.report.figure_parts.style import SPARE_COLOURS, Palette, nothing_yet
from revocab.report.kind import FigureOptions, Place
from revocab.report.names import method_label
from revocab.report.references import unknowns
from revocab.report.results import Results
from revocab.report.runs import RunIndex
from revocab.report.table_parts.table import Cell
from revocab.report.tables.languages import AVERAGE, ModelsByLanguageTable
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

    def places(self, index: RunIndex) -> Iterator[Place | None]:
        for table in self.shown(index.experiment).values():
            yield from table.places(index)


#: Cells by row and column.
Cells = Mapping[tuple[str, str], Cell]
#: Part of a group's place that its bars fill, and characters of a label's line.
FILLED, WIDTH = 0.8, 18


class Bar(NamedTuple):
    """A value of ours with its error and a printed one, any of which may be missing."""

    value: float | None
    published: float | None
    error: float | None = None

    @classmethod
    def of(cls, cell: Cell | None) -> Bar:
        if cell is None:
            return cls(None, None)
        numbers = (cell.value, cell.compared(), cell.stderr)
        shown = [None if number is None else number * cell.scale for number in numbers]
        return cls(*shown)


def draw_bars(axes: Axes, groups: Sequence[str], series: Mapping[str, Sequence[Bar]]) -> None:
    """Draw a bar per series in every group; a black line where the paper's value is."""
    thickness = FILLED / max(len(series), 1)
    drawn = False
    for place, (name, bars) in enumerate(series.items()):
        offset = (place - (len(series) - 1) / 2) * thickness
        colour = SPARE_COLOURS[place % len(SPARE_COLOURS)]
        known = [
            (i + offset, bar.value, bar.error or 0.0)
            for i, bar in enumerate(bars)
            if bar.value is not None
        ]
        printed = [(i, bar.published) for i, bar in enumerate(bars) if bar.published is not None]
        if known:
            places, values, errors = zip(*known, strict=True)
            axes.bar(places, values, thickness * 0.92, color=colour, label=name)
            for at, value, error in known if any(errors) else ():
                axes.vlines(at, value - error, value + error, color="#333333", linewidth=0.8)
        for i, value in printed:
            left = i + offset - thickness * 0.46
            axes.hlines(value, left, left + thickness * 0.92, color="black", linewidth=1.5)
            if not known and i == printed[0][0]:
                axes.plot([], [], color=colour, label=name)
            axes.plot(i + offset, value, marker="o", markersize=3, color=colour)
        drawn = drawn or bool(known or printed)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.grid(axis="x", visible=False)
    if not drawn:
        nothing_yet(axes)


class ModelsByLanguageFigure(FigureOptions):
    """Several tables of models by language, as an experiment's own (a YAML anchor names one)."""

    kind: Literal["models_by_language"]
    #: The averages, the changes of each language, or its scores, a panel for each language.
    show: Literal["averages", "changes", "scores"]
    #: By the id that published values name.
    tables: dict[Id, ModelsByLanguageTable] = Field(min_length=1)

    @model_validator(mode="after")
    def _can_be_drawn(self) -> ModelsByLanguageFigure:
        for name, table in self.tables.items():
            if self.show == "averages" and not table.averages:
                raise ValueError(f"tables.{name}: no averages, which this figure shows; give some")
            if self.show == "changes" and table.change is None:
                raise ValueError(f"tables.{name}: no change, which this figure shows; give it")
        return self

    @property
    def columns(self) -> list[str]:
        names = [
            name
            for table in self.tables.values()
            for name in table.columns
            if self.show != "changes" or name != table.base
        ]
        return list(dict.fromkeys(names))

    def draw(self, results: Results, palette: Palette) -> Figure:
        """Return a bar per column and table (averages), a panel per column (changes), or one per
        language with a bar per column and table (scores).
        """
        from matplotlib import pyplot

        from revocab.report.make_tables import add_published  # whose kinds figures are made of

        cells: dict[str, Cells] = {}
        for name, options in self.tables.items():
            table = options.build(results)
            add_published(table, options, results, name)
            places = table.places().items()
            cells[name] = {(row, column): cell for (_, row, column), cell in places}
        titles = {name: fill(table.title, WIDTH) for name, table in self.tables.items()}
        languages = list(dict.fromkeys(la for t in self.tables.values() for la in t.languages))
        panels = {"averages": [self.title], "changes": self.columns, "scores": languages}[self.show]
        figure, axes = pyplot.subplots(
            len(panels), 1, figsize=(9.4, 3.2 * len(panels)), layout="constrained", squeeze=False
        )
        for panel, subplot in zip(panels, axes[:, 0], strict=True):
            if self.show == "averages":
                rows = {
                    name: AVERAGE.format(table.averages[0]) for name, table in self.tables.items()
                }
                draw_bars(subplot, list(titles.values()), self.bars(cells, rows))
                subplot.set_ylabel("average score")
                continue
            if self.show == "scores":
                of_language = [name for name, t in self.tables.items() if panel in t.languages]
                rows = dict.fromkeys(of_language, language_label(panel))
                draw_bars(subplot, [titles[name] for name in rows], self.bars(cells, rows))
                subplot.set_title(language_label(panel))
                subplot.set_ylabel("score")
                continue
            groups = [language_label(language) for language in languages]
            draw_bars(subplot, groups, self.changes(cells, panel, groups))
            subplot.set_title(panel)
            subplot.set_ylabel("gain over the base")
            subplot.set_ylim(0, max(subplot.get_ylim()[1], 1))
        handles, labels = axes[0, 0].get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
        return figure

    def bars(self, cells: Mapping[str, Cells], rows: Mapping[str, str]) -> dict[str, list[Bar]]:
        """Return by column a bar for a row of each table."""
        return {
            column: [Bar.of(cells[name].get((row, column))) for name, row in rows.items()]
            for column in self.columns
        }

    def changes(
        self, cells: Mapping[str, Cells], column: str, rows: Sequence[str]
    ) -> dict[str, list[Bar]]:
        series = {}
        for name, table in self.tables.items():
            header = table.change_header(column)
            series[table.title] = [Bar.of(cells[name].get((row, header))) for row in rows]
        return series

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        for name, table in self.tables.items():
            yield from table.problems(experiment, f"{key}.tables.{name}")

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        for table in self.tables.values():
            yield from table.scores(experiment)


FIGURE = (BarsFigure, ModelsByLanguageFigure)
