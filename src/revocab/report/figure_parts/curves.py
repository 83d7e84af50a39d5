"""What figures of losses share: curves over seeds, by steps or bytes of text, and their axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any, Literal

from revocab.closed import Closed
from revocab.evaluation.over_seeds import deviation
from revocab.report.annotations import Axes, Figure, Run
from revocab.report.figure_parts.style import LABEL_GAP, Label, Palette, label_width
from revocab.report.names import method_label
from revocab.report.results import Results, number
from revocab.report.results.heldout_losses import Progress, heldout_curve

#: Labels of the horizontal axis.
LABELS: dict[Progress, str] = {
    "steps": "training steps",
    "bytes": "megabytes of training text",
    "flops": "10¹² floating-point operations of training",
}
Scale = Literal["auto", "linear", "log"]
#: From which ratio of the greatest to the least value on a vertical axis is logarithmic: else the
#: first, high losses press all others into a band at the bottom.
OUTLYING = 2.5
#: The most ticks of a logarithmic axis that can still be read.
TICKS = 6
#: Ticks within a decade, for a range of losses below :data:`WIDE` and for a wider one.
FINE, COARSE = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 2, 5)
WIDE = 8
#: How many times its own range from a panel's data a level is drawn, and the least such distance
#: (of logarithms).
FAR, SLIGHT = 1.0, 0.2
BASE = "base model"
#: Inches at the left of a panel, above it and below it, and below all for marks.
SIDE, ABOVE, BELOW, MARK = 0.68, 0.34, 0.52, 0.12
#: By step: the mean over seeds and the standard deviation, which a single seed does not have.
Curve = dict[int, tuple[float, float | None]]
#: The same of a figure: place on the horizontal axis, mean and deviation.
Point = tuple[float, float, float | None]
SEED_BANDS = "Runs with seeds: the mean over them, and a band of one standard deviation."


class LossAxes(Closed):
    """How a figure of losses counts training, and its scale."""

    #: What the horizontal axis counts: steps, megabytes of text, or 10¹² floating-point operations.
    over: Progress = "steps"
    #: ``log``: both axes; early steps and small differences are seen, at which methods differ.
    #: ``auto``: the vertical one, where a few high values would flatten the rest.
    scale: Scale = "auto"


def training_curve(results: Results, run: Run, column: str) -> Curve:
    def losses(single: Run) -> dict[int, float]:
        rows = results.csv("runs", single.id, "losses.csv")
        values = {int(row["step"]): number(row[column]) for row in rows}
        return {step: value for step, value in values.items() if value is not None}

    return over_replicates(results, run, losses)


def heldout_over_seeds(results: Results, run: Run, language: str) -> Curve:
    return over_replicates(results, run, lambda single: heldout_curve(results, single, language))


def over_replicates(results: Results, run: Run, values: Callable[[Run], dict[int, float]]) -> Curve:
    tables = [values(single) for single in results.replicates(run)]
    shared = [step for step in tables[0] if all(step in single for single in tables)]
    by_step = {step: [single[step] for single in tables] for step in shared}
    return {step: (fmean(values), deviation(values)) for step, values in by_step.items()}


def draw_curve(axes: Axes, points: Sequence[Point], line: dict[str, Any], **marks: Any) -> None:
    if points:
        at, values, deviations = map(list, zip(*points, strict=True))
        axes.plot(at, values, **marks, **line)
        draw_band(axes, at, values, deviations, line["color"])


def draw_band(
    axes: Axes,
    places: Sequence[float],
    means: Sequence[float],
    deviations: Sequence[float | None],
    colour: str,
) -> None:
    """Draw one standard deviation over seeds to both sides of a curve; nothing for one seed."""
    known = [single for single in deviations if single is not None]
    if not known or len(known) < len(deviations):
        return
    # A loss is above 0: a wider band would end where a logarithmic axis has no place.
    below = [
        mean - single if mean > single else min(means)
        for mean, single in zip(means, known, strict=True)
    ]
    above = [mean + single for mean, single in zip(means, known, strict=True)]
    axes.fill_between(places, below, above, color=colour, alpha=0.15, linewidth=0)


def scale_axes(axes: Axes, scale: Scale, places: Iterable[float], *, vertical: bool = True) -> None:
    """Make the axes of a panel logarithmic as ``scale`` says; 0 stands left of the first of
    ``places``, and the label says which vertical axis is. Without ``vertical`` that one stays as
    it is; so does an empty panel.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    first = min((place for place in places if place > 0), default=None)
    if first is None or not axes.has_data():
        return
    if scale == "log":
        axes.set_xscale("symlog", linthresh=first, linscale=0.4)
        axes.xaxis.set_major_locator(FixedLocator([0.0, *doublings(first, axes.dataLim.x1)]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
        axes.minorticks_off()
    low, high = axes.dataLim.y0, axes.dataLim.y1
    wide = scale == "log" or (scale == "auto" and high >= OUTLYING * low)
    if not vertical or not wide or low <= 0:
        return
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=FINE if high < WIDE * low else COARSE))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_ylabel(f"{axes.get_ylabel()}, log scale")


def doublings(first: float, last: float) -> list[float]:
    """Return powers of two times ``first``, up to ``last``, thinned to what can be read; ``first``
    becomes 1, 2 or 5 times a power of ten unless it is whole.
    """
    if first % 1:
        ten = 10.0 ** math.floor(math.log10(first))
        first = next(step * ten for step in (1, 2, 5, 10) if step * ten >= first)
    count = 1 + int(math.log2(last / first) + 1e-9) if last > first else 1
    return [first * 2.0**power for power in range(0, count, -(-count // TICKS))]


def panels(
    rows: int, columns: int, labels: Iterable[str], plot: tuple[float, float] = (3.3, 2.35)
) -> tuple[Figure, Any]:
    """Return a grid of panels of a size (``plot``, in inches), each with room for labels at the
    right ends of its lines; higher where there are too many for it.
    """
    from matplotlib import pyplot

    named = list(labels)
    across, down = plot[0], max(plot[1], len(named) * LABEL_GAP / 72)
    right = label_width(named)
    width = columns * (SIDE + across + right)
    height = rows * (ABOVE + down + BELOW) + MARK
    figure, grid = pyplot.subplots(rows, columns, figsize=(width, height), squeeze=False)
    figure.subplots_adjust(
        left=SIDE / width, right=1 - right / width, top=1 - ABOVE / height,
        bottom=(BELOW + MARK) / height, wspace=(SIDE + right) / across,
        hspace=(ABOVE + BELOW) / down,
    )  # fmt: skip
    return figure, grid


def draw_level(axes: Axes, level: float, name: str, line: dict[str, Any]) -> Label:
    """Draw a level beside what a panel has, and return its label; one so far from it that it would
    press it together is named with its value at the edge instead.
    """
    low, high = axes.dataLim.y0, axes.dataLim.y1
    if axes.has_data() and min(low, level) > 0:
        away = max(math.log(low / level), math.log(level / high))
        if away > max(FAR * math.log(high / low), SLIGHT):
            arrow = "↓" if level < low else "↑"
            return level, f"{name}\n{level:.3g} {arrow}", line["color"]
    axes.axhline(level, **line)
    return level, name, line["color"]


def end_label(run: Run, points: Sequence[Point], palette: Palette) -> Label:
    return points[-1][1], method_label(run), palette.line(run.name)["color"]
