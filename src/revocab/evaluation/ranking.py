"""What seeds say of an order of methods: which may be the best.

Losses, of which lower is better. A sample has the losses of one method, by seed, in each of some
strata (pairs of languages). Seeds are what varies; the strata are fixed. Curves are (place, loss)
pairs with ascending places, straight between them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from revocab.evaluation.over_seeds import (
    FEWEST_SEEDS,
    SeedInterval,
    level_of,
    reach_of_both,
)

#: Losses by seed, of every stratum.
Sample = Sequence[Mapping[int, float]]
Curve = Sequence[tuple[float, float]]
#: Places this much apart, as a share, are one: text is counted from rounded losses.
SAME_PLACE = 1e-3


# Intervals ----------------------------------------------------------------------------------------


def stratified_interval(
    values_GS: Sequence[Sequence[float]], *, comparisons: int = 1
) -> SeedInterval | None:
    """Return the t interval of the unweighted mean of strata's means; strata may differ in spread
    and in their number of seeds.

    ``comparisons``: as in :func:`~revocab.evaluation.over_seeds.paired_interval`, whose interval
    that of a single stratum is. Those of several are added by squares, each with its own degrees of
    freedom: those that Welch and Satterthwaite would give to the sum follow from spreads that few
    seeds hardly know, and miss up to twice as often as they say. ``seeds`` are those of the stratum
    with the fewest. None if a stratum has fewer than two.
    """
    fewest = min(map(len, values_GS), default=0)
    if fewest < 2:
        return None
    mean, level = fmean(map(fmean, values_GS)), level_of(comparisons)
    reaches_G = [reach_of_both(0.0, stdev(of), len(of), level) for of in values_GS]
    reach = math.hypot(*reaches_G) / len(reaches_G)
    return SeedInterval(mean, mean - reach, mean + reach, fewest)


def mean_of(sample: Sample) -> float | None:
    """Return the unweighted mean of strata's means; None if a stratum has no loss."""
    if not sample or not all(sample):
        return None
    return fmean(fmean(by_seed.values()) for by_seed in sample)


def differences(first: Sample, second: Sample) -> list[list[float]]:
    """Return the first's losses minus the second's, seed by seed, of the seeds that both have."""
    return [
        [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]
        for ours, theirs in zip(first, second, strict=True)
    ]


def paired_difference(
    first: Sample, second: Sample, *, comparisons: int = 1
) -> tuple[float | None, SeedInterval | None]:
    """Return the mean difference of two samples, and its interval where it has one.

    Where a stratum has no seed in common, it is the difference of the means, without an interval.
    """
    paired_GS = differences(first, second)
    if all(paired_GS) and paired_GS:
        interval = stratified_interval(paired_GS, comparisons=comparisons)
        return fmean(map(fmean, paired_GS)), interval
    ours, theirs = mean_of(first), mean_of(second)
    return (None if ours is None or theirs is None else ours - theirs), None


def possible_best(samples_N: Sequence[Sample]) -> list[bool]:
    """Return which methods may have the lowest loss: those that no other is below beyond chance,
    for which fewer than :data:`FEWEST_SEEDS` seeds are no evidence.
    The best method is among them with at least 95 % confidence, since that it is not needs one of
    N - 1 differences to be an error. Subset selection: Gupta, "On Some Multiple Decision (Selection
    and Ranking) Rules", 1965; Hsu, "Multiple Comparisons", 1996, chapter 4.
    """
    comparisons = max(1, len(samples_N) - 1)

    def beaten(sample: Sample, other: Sample) -> bool:
        interval = paired_difference(sample, other, comparisons=comparisons)[1]
        return interval is not None and interval.seeds >= FEWEST_SEEDS and interval.low > 0

    return [
        not any(beaten(sample, other) for other in samples_N if other is not sample)
        for sample in samples_N
    ]


# Curves -------------------------------------------------------------------------------------------


def at_place(curve: Curve, place: float) -> float | None:
    """Return the loss at a place, on the straight line between the points around it; None outside
    of the curve, of whose ends :data:`SAME_PLACE` is taken off or on.
    """
    if not curve or place < curve[0][0] * (1 - SAME_PLACE):
        return None
    before = curve[0]
    for point in curve:
        if place <= point[0]:
            width = point[0] - before[0]
            share = (place - before[0]) / width if width and place > before[0] else 1.0
            return before[1] + share * (point[1] - before[1])
        before = point
    return before[1] if place <= before[0] * (1 + SAME_PLACE) else None


def mean_curve(curves: Sequence[Curve]) -> list[tuple[float, float]]:
    """Return the mean of curves where all of them are, at every place of any; empty: nowhere."""
    if not curves or not all(curves):
        return []
    low = max(curve[0][0] for curve in curves)
    high = min(curve[-1][0] for curve in curves)
    places = sorted({place for curve in curves for place, _ in curve if low <= place <= high})
    return [(place, fmean(_inside(curve, place) for curve in curves)) for place in places]


def crossing(curve: Curve, reference: Curve) -> float | None:
    """Return the first place at which a curve is below another one; None: nowhere that both are."""
    above: tuple[float, float] | None = None
    negative = [(place, -value) for place, value in reference]
    for place, value in mean_curve([curve, negative]):  # half of their difference
        if value < 0:
            if above is None:
                return place
            share = above[1] / (above[1] - value)
            return above[0] + share * (place - above[0])
        above = place, value
    return None


def _inside(curve: Curve, place: float) -> float:
    value = at_place(curve, place)
    assert value is not None  # between the curve's ends
    return value
