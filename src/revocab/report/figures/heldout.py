"""Curves of held-out loss, and their differences from one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from revocab.closed import HeldoutLanguage, Id, ShownRunId, unknown
from revocab.languages import language_label
from revocab.report.annotations import Axes, Experiment, Figure, Run
from revocab.report.figure_parts.curves import (
    LABELS,
    LEGEND_COLUMNS,
    SEED_BANDS,
    LossAxes,
    Point,
    Scale,
    draw_curve,
    heldout_over_seeds,
    legend,
    scale_axes,
    training_progress,
)
from revocab.report.figure_parts.palette import Palette
from revocab.report.figure_parts.style import nothing_yet
from revocab.report.kind import FigureOptions
from revocab.report.names import method_label
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.values.losses import text_languages, without_heldout_text

#: Up to so many points of a curve have markers.
MOST_MARKERS = 16
#: Points of a curve by run, ascending.
Curves = dict[str, list[Point]]
#: Least width, in inches: the legend stands above a single panel, too.
NARROWEST = 6.2


class HeldoutFigure(FigureOptions, LossAxes):
    """Held-out losses of chosen runs."""

    kind: Literal["heldout"]
    #: A curve each.
    runs: list[ShownRunId] = Field(min_length=1)
    languages: list[HeldoutLanguage] | None = Field(
        default=None, min_length=1, description="default: those of all held-out text"
    )
    scale: Scale = "log"
    against: Id | None = Field(
        default=None, description="run from whose losses the differences are drawn below"
    )
    caption: ClassVar[str] = (
        "Loss on text held out from training, wherever it was measured; lower is better. "
        "Dashed: the base model before any training. Below, where drawn: the difference to one run "
        "at the same point of training."
    )
    caption_seeds: ClassVar[str] = SEED_BANDS

    def draw(self, results: Results, palette: Palette) -> Figure:
        """Return a column of panels per language: losses, and below them the differences."""
        from matplotlib import pyplot

        runs = [results.run(run) for run in self.runs]
        languages = self.languages or text_languages(results.experiment)
        lines, columns = (1 if self.against is None else 2), len(languages)
        figure, grid = pyplot.subplots(
            lines,
            columns,
            figsize=(max(NARROWEST, 4.6 * columns + 0.4), 3.3 * lines + 0.5),
            squeeze=False,
        )
        height = figure.get_figheight()
        top = 1 - (0.65 if len(runs) < LEGEND_COLUMNS else 0.85) / height
        figure.subplots_adjust(
            left=0.1 if columns < 2 else 0.08, right=0.98, bottom=0.5 / height, top=top,
            hspace=0.34, wspace=0.24,
        )  # fmt: skip
        for panels, language in zip(grid.T, languages, strict=True):
            curves = self.curves(results, runs, language)
            places = [place for points in curves.values() for place, *_ in points]
            for run in curves:
                # Markers where these can be told apart.
                marker = "o" if len(curves[run]) <= MOST_MARKERS else None
                line = palette.line(results.run(run).name)
                draw_curve(panels[0], curves[run], line, marker=marker, markersize=3.5)
            if len({run.group for run in runs}) == 1:
                levels = heldout_curve(results, results.base(runs[0].group), language)
                for level in levels.values():
                    panels[0].axhline(level, linewidth=1.2, **palette.line("base"))
            scale_axes(panels[0], self.scale, places)
            title = f"Held-out {language_label(language)} text"
            panels[0].set(title=title, ylabel="bits per byte")
            if self.against is not None:
                draw_differences(results, panels[1], curves, self.against, palette)
                scale_axes(panels[1], self.scale, places, vertical=False)
                panels[1].set_xlim(panels[0].get_xlim())
                named = method_label(results.run(self.against))
                panels[1].set(title=f"Difference from {named}", ylabel="bits per byte")
            for axes in panels:
                axes.set_xlabel(LABELS[self.over])
                if not axes.has_data():
                    nothing_yet(axes)
        legend(figure, runs, palette)
        return figure

    def curves(self, results: Results, runs: list[Run], language: str) -> Curves:
        curves: Curves = {}
        for run in runs:
            places = training_progress(results, run, self.over)
            losses = heldout_over_seeds(results, run, language)
            points = [(places[step], *loss) for step, loss in losses.items() if step in places]
            if run.trains and points:
                curves[run.id] = points
        return curves

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from without_heldout_text(experiment, key)
        if self.against is not None and self.against not in self.runs:
            yield unknown(f"{key}.against", self.against, self.runs, "run of the figure")


def draw_differences(
    results: Results, axes: Axes, curves: Curves, against: str, palette: Palette
) -> None:
    import numpy as np

    if against not in curves:
        return
    places, losses, _ = zip(*curves[against], strict=True)
    for name, points in curves.items():
        shared = [(at, loss) for at, loss, _ in points if places[0] <= at <= places[-1]]
        if shared:
            at, values = (np.array(part) for part in zip(*shared, strict=True))
            line = palette.line(results.run(name).name)
            axes.plot(at, values - np.interp(at, places, losses), **line)


FIGURE = HeldoutFigure
