"""Curves of runs that have replicates: means over seeds, and bands of one standard deviation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from revocab.evaluation.over_seeds import deviation
from revocab.report.results import Results, number
from revocab.report.results.heldout_losses import heldout_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from revocab.config.expand import Run

#: By step: the mean over seeds and the standard deviation, which a single seed does not have.
Curve = dict[int, tuple[float, float | None]]
SEED_BANDS = "Runs with seeds: the mean over them, and a band of one standard deviation."


def training_curve(results: Results, run: Run, column: str) -> Curve:
    def losses(one: Run) -> dict[int, float]:
        rows = results.csv("runs", one.id, "losses.csv")
        values = {int(row["step"]): number(row[column]) for row in rows}
        return {step: value for step, value in values.items() if value is not None}

    return over_replicates(results, run, losses)


def heldout_over_seeds(results: Results, run: Run, language: str) -> Curve:
    return over_replicates(results, run, lambda one: heldout_curve(results, one, language))


def over_replicates(results: Results, run: Run, values: Callable[[Run], dict[int, float]]) -> Curve:
    """Return the values of a run's replicates by step, where all of them have one."""
    tables = [values(one) for one in results.replicates(run)]
    shared = [step for step in tables[0] if all(step in one for one in tables)]
    by_step = {step: [one[step] for one in tables] for step in shared}
    return {step: (fmean(found), deviation(found)) for step, found in by_step.items()}


def draw_band(
    axes: Axes,
    places: Sequence[float],
    means: Sequence[float],
    deviations: Sequence[float | None],
    colour: str,
) -> None:
    """Draw one standard deviation over seeds to both sides of a curve; nothing for one seed."""
    known = [one for one in deviations if one is not None]
    if not known or len(known) < len(deviations):
        return
    below = [mean - one for mean, one in zip(means, known, strict=True)]
    above = [mean + one for mean, one in zip(means, known, strict=True)]
    axes.fill_between(places, below, above, color=colour, alpha=0.15, linewidth=0)
