"""Curves of held-out loss, and their differences from one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import Field

from revocab.closed import HeldoutLanguage, Id, ShownRunId, unknown
from revocab.languages import language_label
from revocab.report.annotations import Axes, Experiment, Figure, Run
from revocab.report.figure_parts import curves as shared
from revocab.report.figure_parts.palette import Palette
from revocab.report.figure_parts.style import Label, label_ends, nothing_yet
from revocab.report.kind import FigureOptions
from revocab.report.names import method_label
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve, training_progress
from revocab.report.values.losses import text_languages, without_heldout_text

#: Up to so many points of a curve have markers.
MOST_MARKERS = 16
#: How the curve of a reference is drawn, over all others.
STANDING_OUT: dict[str, Any] = {
    "color": "#000000", "linestyle": (0, (4, 1.5)), "linewidth": 3.0, "zorder": 3,
}  # fmt: skip
#: Points of a curve by run, ascending.
Curves = dict[str, list[shared.Point]]


class HeldoutFigure(FigureOptions, shared.LossAxes):
    """Held-out losses of chosen runs."""

    kind: Literal["heldout"]
    #: A curve each.
    runs: list[ShownRunId] = Field(min_length=1)
    languages: list[HeldoutLanguage] | None = Field(
        default=None, min_length=1, description="default: those of all held-out text"
    )
    scale: shared.Scale = "log"
    against: Id | None = Field(
        default=None, description="run from whose losses the differences are drawn below"
    )
    reference: Id | None = Field(
        default=None, description="run that stands out: its line is black, bold and dashed"
    )

    def draw(self, results: Results, palette: Palette) -> Figure:
        """Return the losses by language, a column each, and below them the differences; of a
        single language these stand beside them.
        """
        runs = [results.run(run) for run in self.runs]
        languages = self.languages or text_languages(results.experiment)
        names = [*map(method_label, runs), shared.BASE]
        if self.against is not None and len(languages) == 1:
            figure, grid = shared.panels(1, 2, names, (3.1, 2.9))
            grid = grid.T
        else:
            figure, grid = shared.panels(1 if self.against is None else 2, len(languages), names)
        for column, language in zip(grid.T, languages, strict=True):
            self.draw_losses(results, column[0], runs, language, palette)
            if self.against is not None:
                curves = self.curves(results, runs, language)
                self.draw_differences(results, column[1], curves, palette)
        return figure

    def draw_losses(
        self, results: Results, axes: Axes, runs: list[Run], language: str, palette: Palette
    ) -> None:
        curves = self.curves(results, runs, language)
        labels = [self.label(results, run, curves[run], palette) for run in curves]
        for run, points in curves.items():
            # Markers where these can be told apart.
            marker = "o" if len(points) <= MOST_MARKERS else None
            line = self.line(results, run, palette)
            shared.draw_curve(axes, points, line, marker=marker, clip_on=False)
        if len({run.group for run in runs}) == 1:
            levels = heldout_curve(results, results.base(runs[0].group), language)
            for level in levels.values():
                labels.append(shared.draw_level(axes, level, shared.BASE, palette.line("base")))
        axes.set(title=f"Held-out {language_label(language)} text", ylabel="bits per byte")
        self.finish(axes, curves, labels)

    def draw_differences(
        self, results: Results, axes: Axes, curves: Curves, palette: Palette
    ) -> None:
        """Draw how far each curve is from that of one run: on a logarithmic scale as a share of
        it, since there equal distances are equal ratios.
        """
        import numpy as np

        assert self.against is not None
        named = method_label(results.run(self.against))
        unit = "per cent" if self.scale == "log" else "bits per byte"
        axes.set(title=f"Difference from {named}", ylabel=unit)
        labels = []
        places, losses = zip(*(p[:2] for p in curves.get(self.against, [(0, 0)])), strict=True)
        for name, points in curves.items() if self.against in curves else ():
            common = [(at, loss) for at, loss, _ in points if places[0] <= at <= places[-1]]
            if common:
                at, values = (np.array(part) for part in zip(*common, strict=True))
                other = np.interp(at, places, losses)
                change = values - other
                change = 100 * change / other if self.scale == "log" else change
                marker = "o" if len(points) <= MOST_MARKERS else None
                line = self.line(results, name, palette)
                axes.plot(at, change, marker=marker, clip_on=False, **line)
                end = [(at[-1], float(change[-1]), None)]
                labels.append(self.label(results, name, end, palette))
        self.finish(axes, curves, labels, vertical=False)

    def line(self, results: Results, run: str, palette: Palette) -> dict[str, Any]:
        return STANDING_OUT if run == self.reference else palette.line(results.run(run).name)

    def label(
        self, results: Results, run: str, points: Sequence[shared.Point], palette: Palette
    ) -> Label:
        end, name, _ = shared.end_label(results.run(run), points, palette)
        return end, name, self.line(results, run, palette)["color"]

    def finish(
        self, axes: Axes, curves: Curves, labels: list[Label], *, vertical: bool = True
    ) -> None:
        axes.set_xlabel(shared.LABELS[self.over])
        if not axes.has_data():
            nothing_yet(axes)
        places = [place for points in curves.values() for place, *_ in points]
        shared.scale_axes(axes, self.scale, places, vertical=vertical)
        if places:
            axes.set_xlim(0, max(places) * 1.02 or 1)
        label_ends(axes, labels)

    def curves(self, results: Results, runs: list[Run], language: str) -> Curves:
        curves: Curves = {}
        for run in runs:
            places = training_progress(results, run, self.over)
            losses = shared.heldout_over_seeds(results, run, language)
            points = [(places[step], *loss) for step, loss in losses.items() if step in places]
            if run.trains and points:
                curves[run.id] = points
        return curves

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from without_heldout_text(experiment, key)
        for option, run in (("against", self.against), ("reference", self.reference)):
            if run is not None and run not in self.runs:
                yield unknown(f"{key}.{option}", run, self.runs, "run of the figure")


FIGURE = HeldoutFigure
