"""Bars of what tables show: one column of tables of runs, and tables of models by language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from revocab.closed import Id
from revocab.languages import language_label
from revocab.report.annotations import Axes, Experiment, Figure
from revocab.report.drawing import SPARE_COLOURS, Palette, nothing_yet
from revocab.report.kind import FigureOptions, Place
from revocab.report.references import unknowns
from revocab.report.results import Results
from revocab.report.runs import RunIndex, method_label
from revocab.report.table import Cell
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

        from revocab.report.make_tables import build_table  # whose kinds figures are made of

        tables = self.shown(results.experiment)
        runs = {name: [results.run(run) for run in table.runs] for name, table in tables.items()}
        models = {results.model_label(run) for each in runs.values() for run in each}
        cells: dict[str, Cell] = {}
        for name in tables:
            table = build_table(results, name)
            place = table.header.index(self.column)
            for run, row in zip(runs[name], table.data_rows(), strict=True):
                model = f"{results.model_label(run)}: " if run.made and len(models) > 1 else ""
                cells[f"{model}{method_label(run)}"] = row.cells[place]
        size = (7.2, 1.2 + 0.26 * len(cells))
        figure, axes = pyplot.subplots(figsize=size, layout="constrained")
        series = {self.column: [Bar.of(cell) for cell in cells.values()]}
        draw_bars(axes, list(cells), series, [COLOUR], across=True)
        axes.set_xlabel(self.column)
        return figure

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


#: Part of a group's place that its bars fill, and characters of a label's line.
FILLED, WIDTH = 0.8, 18


class Bar(NamedTuple):
    """A value of ours with its error and a printed one, any of which may be missing."""

    value: float | None = None
    error: float | None = None
    published: float | None = None

    @classmethod
    def of(cls, cell: Cell) -> Bar:
        numbers = (cell.value, cell.stderr, cell.compared())
        return cls(*(None if number is None else number * cell.scale for number in numbers))


#: A panel's title, the label of its values, its groups, and bars by series.
Panel = tuple[str, str, list[str], dict[str, list[Bar]]]


def draw_bars(
    axes: Axes,
    groups: Sequence[str],
    series: Mapping[str, Sequence[Bar]],
    colours: Sequence[str] = SPARE_COLOURS,
    *,
    across: bool = False,
    written: str = "",
) -> None:
    """Draw a bar per series in every group, upwards or ``across``, with its error, and a black line
    where the paper's value is. ``written``: the format of values beside the bars.
    """
    import numpy as np

    draw: Any = axes.barh if across else axes.bar
    along, over = (axes.hlines, axes.vlines) if across else (axes.vlines, axes.hlines)
    axis: Any = "y" if across else "x"
    width = FILLED / max(len(series), 1)
    for number, (name, bars) in enumerate(series.items()):
        colour = colours[number % len(colours)]
        places = np.arange(len(bars)) + (number - (len(series) - 1) / 2) * width
        # A number that is missing is NaN.
        values, errors, published = np.array(bars, dtype=float).reshape(-1, 3).T
        ours, printed, unsure = ~np.isnan(values), ~np.isnan(published), errors > 0
        if ours.any():
            drawn = draw(places[ours], values[ours], 0.92 * width, color=colour, label=name)
            if written:
                axes.bar_label(drawn, fmt=written, padding=3, fontsize=7.5)
        if unsure.any():
            ends = (values - errors)[unsure], (values + errors)[unsure]
            along(places[unsure], *ends, "#333333", linewidth=0.8)
        if printed.any():
            at, paper = places[printed], published[printed]
            over(paper, at - 0.46 * width, at + 0.46 * width, "black", linewidth=1.5)
            points = (paper, at) if across else (at, paper)
            axes.plot(*points, "o", markersize=3, color=colour, label="_" if ours.any() else name)
    limits = (-0.5, len(groups) - 0.5)
    names = {f"{axis}ticks": range(len(groups)), f"{axis}ticklabels": groups}
    axes.set(**names, **{f"{axis}lim": limits[::-1] if across else limits})
    axes.tick_params(axis=axis, length=0)
    axes.grid(axis=axis, visible=False)
    if not axes.has_data():
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
        from matplotlib import pyplot

        panels = list(self.panels(results))
        figure, grid = pyplot.subplots(
            len(panels), 1, figsize=(9.4, 3.2 * len(panels)), layout="constrained", squeeze=False
        )
        for axes, (title, label, groups, series) in zip(grid[:, 0], panels, strict=True):
            draw_bars(axes, groups, series)
            axes.set(title=title, ylabel=label)
            if self.show == "changes":
                axes.set_ylim(0, max(axes.get_ylim()[1], 1))
        handles, labels = grid[0, 0].get_legend_handles_labels()
        if handles:
            figure.legend(
                handles, labels, loc="outside upper center", ncols=3, fontsize=8, markerscale=2
            )
        return figure

    def panels(self, results: Results) -> Iterator[Panel]:
        """Yield a panel with a bar per column and table (averages), one per language with such bars
        (scores), or one per column with a bar per table and language (changes).
        """
        from revocab.report.make_tables import add_published  # whose kinds figures are made of

        tables = self.tables
        bars: dict[tuple[str, str, str], Bar] = defaultdict(Bar)
        for name, options in tables.items():
            table = options.build(results)
            add_published(table, options, results, name)
            for (_, row, column), cell in table.places().items():
                bars[name, row, column] = Bar.of(cell)
        languages = list(dict.fromkeys(la for table in tables.values() for la in table.languages))

        def of_tables(title: str, label: str, rows: Mapping[str, str]) -> Panel:
            series = {
                column: [bars[name, row, column] for name, row in rows.items()]
                for column in self.columns
            }
            return title, label, [fill(tables[name].title, WIDTH) for name in rows], series

        if self.show == "averages":
            rows = {name: AVERAGE.format(table.averages[0]) for name, table in tables.items()}
            yield of_tables("", "average score", rows)
        elif self.show == "scores":
            for language in languages:
                named = [name for name, table in tables.items() if language in table.languages]
                label = language_label(language)
                yield of_tables(label, "score", dict.fromkeys(named, label))
        else:
            groups = list(map(language_label, languages))
            for column in self.columns:
                series = {}
                for name, options in tables.items():
                    change = options.change_header(column)
                    series[options.title] = [bars[name, row, change] for row in groups]
                yield column, "gain over the base", groups, series

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        for name, table in self.tables.items():
            yield from table.problems(experiment, f"{key}.tables.{name}")

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        for table in self.tables.values():
            yield from table.scores(experiment)


FIGURE = (BarsFigure, ModelsByLanguageFigure)
