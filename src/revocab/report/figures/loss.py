"""Figures 6, 7, 9 and 10: losses of chosen runs by training step, or by bytes of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from revocab.closed import ShownRunId
from revocab.languages import language_label
from revocab.report.annotations import Axes, Experiment, Figure, Run
from revocab.report.figure_parts import curves
from revocab.report.figure_parts.palette import Palette
from revocab.report.figure_parts.style import Label, label_ends, nothing_yet
from revocab.report.kind import FigureOptions
from revocab.report.names import method_label
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve, training_progress

#: Where each step stands on the horizontal axis, by run.
Places = dict[str, dict[int, float]]
#: Width of smoothing (sigma) as a share of all steps.
SMOOTHING = 0.02


class LossFigure(FigureOptions, curves.LossAxes):
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
        figure, grid = curves.panels(2, max(2, len(languages)), [*names, f"{curves.BASE} 0.00"])
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
                curve = curves.heldout_over_seeds(results, run, language)
                points = [(places[run.id][step], *loss) for step, loss in curve.items()]
                curves.draw_curve(axes, points, line, marker="o", markersize=4, clip_on=False)
                ends += [curves.end_label(run, points, palette)] if points else []
            base = heldout_curve(results, results.base(runs[0].group), language)
            if base and len({run.group for run in runs}) == 1:
                ends.append(curves.draw_level(axes, base[0], curves.BASE, palette.line("base")))
            if not axes.has_data():
                nothing_yet(axes)
            axes.set(title=f"Held-out {language_label(language)} text", ylabel="bits per byte")
        # A logarithmic axis begins at the first place at which held-out loss was measured.
        steps = {run.id: {row["step"] for row in results.heldout(run)[0]} for run in runs}
        measured = [at for run in places for step, at in places[run].items() if step in steps[run]]
        last = max((max(at.values()) for at in places.values()), default=0) or 1
        for axes, ends in labels.items():
            axes.set_xlabel(curves.LABELS[self.over])
            axes.set_xlim(0, last)
            curves.scale_axes(axes, self.scale, measured)
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
        curve = curves.training_curve(results, run, column)
        if not curve:
            continue
        values, deviations = map(list, zip(*curve.values(), strict=True))
        at, line = [places[run.id][step] for step in curve], palette.line(run.name)
        smoothed = smooth(values)
        axes.plot(at, values, color=line["color"], alpha=0.22, linewidth=0.8)
        axes.plot(at, smoothed, **line)
        curves.draw_band(axes, at, smoothed, deviations, line["color"])
        labels.append((smoothed[-1], method_label(run), line["color"]))
    if not axes.has_data():
        nothing_yet(axes)
    return labels


FIGURE = LossFigure
