"""Curves of held-out loss, and their differences from one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from revocab.closed import Id, unknown
from revocab.languages import language_label
from revocab.report.figure_parts.loss_axes import (
    LABELS,
    LossAxes,
    Scale,
    scale_axes,
    training_progress,
)
from revocab.report.figure_parts.palette import Palette
from revocab.report.figure_parts.seed_curves import SEED_BANDS, draw_band, heldout_over_seeds
from revocab.report.figure_parts.style import nothing_yet
from revocab.report.figures.loss import LEGEND_COLUMNS, legend
from revocab.report.kind import FigureOptions
from revocab.report.names import method_label
from revocab.report.references import unknown_runs
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.values.heldout_options import heldout_problems, text_languages

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from revocab.config.expand import Run
    from revocab.config.schema import Experiment

#: Up to so many points of a curve have markers.
MOST_MARKERS = 16
#: Points of a curve by run, ascending: place on the horizontal axis, loss, deviation over seeds.
Curves = dict[str, list[tuple[float, float, float | None]]]
#: Least width, in inches: the legend stands above a single panel, too.
NARROWEST = 6.2


class HeldoutFigure(FigureOptions, LossAxes):
    """Held-out losses of chosen runs."""

    kind: Literal["heldout"]
    runs: list[Id] = Field(min_length=1)
    languages: list[Id] | None = Field(
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

        runs = [results.run(one) for one in self.runs]
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
            draw_curves(panels[0], curves, runs, palette)
            draw_base(results, panels[0], runs, language, palette)
            scale_axes(panels[0], self.scale, places_in(curves))
            title = f"Held-out {language_label(language)} text"
            panels[0].set(title=title, ylabel="bits per byte")
            if self.against is not None:
                draw_differences(results, panels[1], curves, self.against, palette)
                scale_axes(panels[1], self.scale, places_in(curves), vertical=False)
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
        """Return the curve of every trained run that has losses."""
        found: Curves = {}
        for run in runs:
            places = training_progress(results, run, self.over)
            losses = heldout_over_seeds(results, run, language)
            points = [(places[step], *loss) for step, loss in losses.items() if step in places]
            if run.trains and points:
                found[run.id] = points
        return found

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from unknown_runs(experiment, key, self.runs)
        yield from heldout_problems(experiment, key, self.languages, None)
        if self.against is not None and self.against not in self.runs:
            yield unknown(f"{key}.against", self.against, self.runs, "run of the figure")


def draw_curves(axes: Axes, curves: Curves, runs: list[Run], palette: Palette) -> None:
    """Draw the curves, with markers where these can be told apart, and bands over seeds."""
    for run in runs:
        points = curves.get(run.id, [])
        if points:
            marker = "o" if len(points) <= MOST_MARKERS else None
            at, losses, deviations = map(list, zip(*points, strict=True))
            line = palette.line(run.name)
            axes.plot(at, losses, marker=marker, markersize=3.5, **line)
            draw_band(axes, at, losses, deviations, line["color"])


def draw_base(
    results: Results,
    axes: Axes,
    runs: list[Run],
    language: str,
    palette: Palette,
) -> None:
    if len({run.group for run in runs}) == 1:
        levels = heldout_curve(results, results.base(runs[0].group), language)
        for level in levels.values():
            axes.axhline(level, linewidth=1.2, **palette.line("base"))


def draw_differences(
    results: Results, axes: Axes, curves: Curves, against: str, palette: Palette
) -> None:
    """Draw each curve less that of ``against``, interpolated where this one was not measured."""
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


def places_in(curves: Curves) -> list[float]:
    return [place for points in curves.values() for place, *_ in points]


FIGURE = HeldoutFigure
