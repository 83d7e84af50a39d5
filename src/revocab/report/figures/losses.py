"""Figures of losses: in training and on held-out text, by steps, bytes of text or operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from pydantic import Field

from revocab.closed import HeldoutLanguage, Id, ShownRunId, unknown
from revocab.languages import language_label
from revocab.report.annotations import Axes, Experiment, Figure, Run
from revocab.report.figure_parts import curves as shared
from revocab.report.figure_parts.style import Label, Palette, label_ends, nothing_yet
from revocab.report.kind import FigureOptions
from revocab.report.names import method_label
from revocab.report.references import without_heldout_text
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve, training_progress
from revocab.report.runs import text_languages

#: Where each step stands on the horizontal axis, by run.
Places = dict[str, dict[int, float]]
#: Width of smoothing (sigma) as a share of all steps.
SMOOTHING = 0.02


class LossFigure(FigureOptions, shared.LossAxes):
    """Training loss of chosen runs."""

    kind: Literal["loss"]
    #: A curve each.
    runs: list[ShownRunId]

    def problems(self, experiment: Experiment, key: str) -> Iterable[str]:
        for named in self.runs:
            runs = [
                run for run in experiment.expanded.values() if named in (run.id, run.replicate_of)
            ]
            if runs and not any(run.recipe for run in runs):
                yield (
                    f"{key}.runs: {named!r} is not trained, so that it has no loss by step; name"
                    " runs that have a recipe"
                )

    def draw(self, results: Results, palette: Palette) -> Figure:
        """Return training loss per token and per byte, and held-out bits per byte by language."""
        runs = [results.run(run) for run in self.runs]
        languages = results.heldout_languages()
        names = [method_label(run) for run in runs]
        figure, grid = shared.panels(2, max(2, len(languages)), [*names, f"{shared.BASE} 0.00"])
        for axes in (*grid[0][2:], *grid[1][len(languages) :]):
            axes.set_axis_off()
        same = len({run.target for run in runs}) == 1
        title = "Training loss per token" + ("" if same else " (tokenizers differ)")
        places = {run.id: training_progress(results, run, self.over) for run in runs}
        labels = {}
        labels[grid[0][0]] = draw_losses(results, grid[0][0], runs, palette, "loss", places)
        grid[0][0].set(title=title, ylabel="nats per token")
        labels[grid[0][1]] = draw_losses(
            results, grid[0][1], runs, palette, "bits_per_byte", places
        )
        grid[0][1].set(title="Training loss per byte of text", ylabel="bits per byte")
        for axes, language in zip(grid[1], languages, strict=False):
            ends = labels[axes] = []
            for run in runs:
                line = palette.line(run.name)
                curve = shared.heldout_over_seeds(results, run, language)
                points = [(places[run.id][step], *loss) for step, loss in curve.items()]
                shared.draw_curve(axes, points, line, marker="o", markersize=4, clip_on=False)
                ends += [shared.end_label(run, points, palette)] if points else []
            base = heldout_curve(results, results.base(runs[0].group), language)
            if base and len({run.group for run in runs}) == 1:
                ends.append(shared.draw_level(axes, base[0], shared.BASE, palette.line("base")))
            if not axes.has_data():
                nothing_yet(axes)
            axes.set(title=f"Held-out {language_label(language)} text", ylabel="bits per byte")
        # A logarithmic axis begins at the first place at which held-out loss was measured.
        steps = {run.id: {row["step"] for row in results.heldout(run)[0]} for run in runs}
        measured = [at for run in places for step, at in places[run].items() if step in steps[run]]
        last = max((max(at.values()) for at in places.values()), default=0) or 1
        for axes, ends in labels.items():
            axes.set_xlabel(shared.LABELS[self.over])
            axes.set_xlim(0, last)
            shared.scale_axes(axes, self.scale, measured)
            label_ends(axes, ends)
        return figure


def smooth(values: list[float]) -> list[float]:
    """Return values averaged over their neighbours (Gaussian, sigma a share of their number).

    Neighbours on both sides count, so that the curve does not lag behind a fall.
    """
    import numpy as np

    sigma = max(SMOOTHING * len(values), 1e-6)
    reach = max(1, round(3 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    padded = np.pad(np.asarray(values, dtype=float), reach)
    present = np.pad(np.ones(len(values)), reach)
    weights = np.convolve(present, kernel, "valid")
    return (np.convolve(padded, kernel, "valid") / weights).tolist()


def draw_losses(
    results: Results, axes: Axes, runs: list[Run], palette: Palette, column: str, places: Places
) -> list[Label]:
    """Draw the runs' training losses in a panel; return the labels of their ends."""
    labels = []
    for run in runs:
        curve = shared.training_curve(results, run, column)
        if not curve:
            continue
        values, deviations = map(list, zip(*curve.values(), strict=True))
        at, line = [places[run.id][step] for step in curve], palette.line(run.name)
        smoothed = smooth(values)
        axes.plot(at, values, color=line["color"], alpha=0.22, linewidth=0.8)
        axes.plot(at, smoothed, **line)
        shared.draw_band(axes, at, smoothed, deviations, line["color"])
        labels.append((smoothed[-1], method_label(run), line["color"]))
    if not axes.has_data():
        nothing_yet(axes)
    return labels


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


FIGURE = (LossFigure, HeldoutFigure)
