"""What figures of losses share: curves over seeds, by steps or bytes of text, and their axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any, Literal

from revocab.closed import Closed
from revocab.evaluation.over_seeds import deviation
from revocab.report.annotations import Axes, Figure, Run
from revocab.report.figure_parts.palette import Palette
from revocab.report.names import method_label
from revocab.report.results import Results, number
from revocab.report.results.heldout_losses import heldout_curve

#: What the horizontal axis counts, and its label.
Progress = Literal["steps", "bytes"]
LABELS: dict[Progress, str] = {"steps": "training steps", "bytes": "megabytes of training text"}
Scale = Literal["linear", "log"]
#: The most ticks of a logarithmic axis that can still be read.
TICKS = 6
#: Ticks within a decade, for a range of losses below :data:`WIDE` and for a wider one.
FINE, COARSE = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 2, 5)
WIDE = 8
LEGEND_COLUMNS = 4
#: By step: the mean over seeds and the standard deviation, which a single seed does not have.
Curve = dict[int, tuple[float, float | None]]
#: The same of a figure: place on the horizontal axis, mean and deviation.
Point = tuple[float, float, float | None]
SEED_BANDS = "Runs with seeds: the mean over them, and a band of one standard deviation."


class LossAxes(Closed):
    """How a figure of losses counts training, and its scale."""

    #: What the horizontal axis counts: steps, or megabytes of text.
    over: Progress = "steps"
    #: ``log``: both axes; early steps and small differences are seen, at which methods differ.
    scale: Scale = "linear"


def training_progress(results: Results, run: Run, over: Progress) -> dict[int, float]:
    """Return where each step of a run stands on the horizontal axis, 0 included.

    Bytes, in millions, are those of the tokens trained on: tokens times loss per token over loss
    per byte, which of each stage is its own ratio.
    """
    places, seen, before = {0: 0.0}, 0.0, 0
    first = results.replicates(run)[0]  # all of them have the same rows
    for row in results.csv("runs", first.id, "losses.csv"):
        step, tokens = int(row["step"]), int(row["tokens"])
        if over == "bytes":
            loss, bits = number(row["loss"]), number(row["bits_per_byte"])
            seen += (tokens - before) * loss / (bits * math.log(2)) if loss and bits else 0.0
            before = tokens
            places[step] = seen / 1e6
        else:
            places[step] = float(step)
    return places


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
    below = [mean - single for mean, single in zip(means, known, strict=True)]
    above = [mean + single for mean, single in zip(means, known, strict=True)]
    axes.fill_between(places, below, above, color=colour, alpha=0.15, linewidth=0)


def scale_axes(axes: Axes, scale: Scale, places: Iterable[float], *, vertical: bool = True) -> None:
    """Make both axes of a panel logarithmic where asked; 0 stands left of the first of ``places``.

    Without ``vertical`` the horizontal one alone. An empty panel stays as it is.
    """
    first = min((place for place in places if place > 0), default=None)
    if scale == "linear" or first is None or not axes.has_data():
        return
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("symlog", linthresh=first, linscale=0.4)
    axes.xaxis.set_major_locator(FixedLocator([0.0, *doublings(first, axes.dataLim.x1)]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.minorticks_off()
    if not vertical:
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=steps_within_a_decade(*axes.get_ylim())))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def steps_within_a_decade(low: float, high: float) -> tuple[float, ...]:
    return FINE if high < WIDE * low else COARSE


def doublings(first: float, last: float) -> list[float]:
    """Return ``first`` times powers of two up to ``last``, thinned to what can be read."""
    count = 1 + int(math.log2(last / first) + 1e-9) if last > first else 1
    return [first * 2.0**power for power in range(0, count, -(-count // TICKS))]


def legend(figure: Figure, runs: list[Run], palette: Palette) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], label=method_label(run), linewidth=2.2, **palette.line(run.name))
        for run in runs
    ]
    if len({run.group for run in runs}) == 1:
        handles.append(Line2D([], [], label="base model (held-out)", **palette.line("base")))
    columns = min(LEGEND_COLUMNS, len(handles))
    figure.legend(handles=handles, loc="upper center", ncols=columns, handlelength=2.8)
