"""What figures of losses have in common: training steps or bytes of text, on linear or log axes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from revocab.closed import Closed
from revocab.report.results import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from revocab.config.expand import Run
    from revocab.report.results import Results

#: What the horizontal axis counts, and its label.
Progress = Literal["steps", "bytes"]
LABELS: dict[Progress, str] = {"steps": "training steps", "bytes": "megabytes of training text"}
Scale = Literal["linear", "log"]
#: The most ticks of a logarithmic axis that can still be read.
TICKS = 6
#: Ticks within a decade, for a range of losses below :data:`WIDE` and for a wider one.
FINE, COARSE = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 2, 5)
WIDE = 8


class LossAxes(Closed):
    """How a figure of losses counts training, and its scale."""

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


def scale_axes(axes: Axes, scale: Scale, places: Iterable[float], *, vertical: bool = True) -> None:
    """Make both axes of a panel logarithmic where asked; 0 stands left of the first of ``places``.

    Without ``vertical`` the horizontal one alone. An empty panel stays as it is.
    """
    first = min((one for one in places if one > 0), default=None)
    if scale == "linear" or first is None or not axes.has_data():
        return
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("symlog", linthresh=first, linscale=0.4)
    ticks = doublings(first, axes.dataLim.x1)
    axes.xaxis.set_major_locator(FixedLocator([0.0, *ticks]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.minorticks_off()
    if not vertical:
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=steps_within_a_decade(*axes.get_ylim())))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def steps_within_a_decade(low: float, high: float) -> tuple[float, ...]:
    """Return the ticks within each decade of a logarithmic axis from ``low`` to ``high``."""
    return FINE if high < WIDE * low else COARSE


def doublings(first: float, last: float) -> list[float]:
    """Return ``first`` times powers of two up to ``last``, thinned to what can be read."""
    count = 1 + int(math.log2(last / first) + 1e-9) if last > first else 1
    return [first * 2.0**power for power in range(0, count, -(-count // TICKS))]
