"""When a difference is real: over seeds, and among several comparisons; and orders of methods.

There are two sources of chance. Which items are in a task is resampled
(:mod:`revocab.evaluation.resampling`); which seed a model was trained with is repeated here.
``values_S`` have one value per seed. Of methods that are ranked, losses are compared, of which
lower is better; a sample has those of one method by seed. Curves are (place, loss) pairs with
ascending places, straight between them.

An experiment is read with this, so numpy and scipy are imported where they are needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist, fmean, stdev

#: Fewer seeds than this say nothing of whether a difference is real.
FEWEST_SEEDS = 3
#: Of intervals.
LEVEL = 0.95
#: Below this adjusted p-value a difference is called significant.
SIGNIFICANT = 0.05
#: So many exchanges of a permutation test must be able to lie beyond a difference that is.
FEW = 10
NORMAL = NormalDist()
#: The normal distribution has 95 % of its mass within so many standard deviations.
NORMAL_95 = NORMAL.inv_cdf((1 + LEVEL) / 2)
#: P-values below this are not told apart: 1 minus a share near 1 has no further digits.
LEAST_P = 1e-12
#: Losses by seed.
Sample = Mapping[int, float]
Curve = Sequence[tuple[float, float]]
#: Places this much apart, as a share, are one: text is counted from rounded losses.
SAME_PLACE = 1e-3


@dataclass(frozen=True)
class SeedInterval:
    """The mean of differences seed by seed, and its interval."""

    difference: float
    low: float
    high: float
    seeds: int


@dataclass(frozen=True)
class Difference:
    """One number minus another, and the errors of that; none are those of exact numbers."""

    value: float
    #: Standard error over items.
    item_error: float = 0.0
    #: Standard deviation over seeds, 0 for a single one.
    deviation: float = 0.0
    seeds: int = 1
    #: Whether its error is known: of items, of :data:`FEWEST_SEEDS` seeds, or both.
    known: bool = True

    def interval(self, comparisons: int = 1) -> tuple[float, float] | None:
        """Return the interval, one of so many that hold at once; None where no error is known."""
        if not self.known:
            return None
        errors = self.item_error, self.deviation, self.seeds
        reach = reach_of_both(*errors, level_of(comparisons))
        return self.value - reach, self.value + reach


def tell(low: float, high: float) -> bool | None:
    """Return whether a difference is above 0: None (cannot tell) where its interval has both."""
    return True if low > 0 else False if high < 0 else None


def all_of(verdicts: Iterable[bool | None]) -> bool | None:
    """Return whether all hold: not, where one does not, and None where one cannot be told."""
    known = list(verdicts)
    return False if False in known else None if None in known else True


def deviation(values_S: Sequence[float]) -> float | None:
    return stdev(values_S) if len(values_S) > 1 else None


@cache
def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """Return the ``t`` within which a share ``level`` of Student's t distribution lies."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))


def paired_interval(
    first_S: Sequence[float], second_S: Sequence[float], *, comparisons: int = 1
) -> SeedInterval | None:
    """Return the t interval of the mean difference of scores with equal seeds, in the same order,
    as of :func:`mean_interval`. Raises ``ValueError`` if the numbers of seeds differ.
    """
    differences_S = [first - other for first, other in zip(first_S, second_S, strict=True)]
    return mean_interval(differences_S, comparisons=comparisons)


def mean_interval(values_S: Sequence[float], *, comparisons: int = 1) -> SeedInterval | None:
    """Return the t interval of a mean over seeds, one of ``comparisons`` intervals that all hold at
    once with :data:`LEVEL` (Bonferroni); None for fewer than two seeds.
    """
    spread = deviation(values_S)
    if spread is None:
        return None
    count, mean = len(values_S), fmean(values_S)
    reach = reach_of_both(0.0, spread, count, level_of(comparisons))
    return SeedInterval(mean, mean - reach, mean + reach, count)


def level_of(comparisons: int) -> float:
    """Return the level of each of so many intervals that hold at once (Bonferroni)."""
    return 1 - (1 - LEVEL) / max(1, comparisons)


def reach_of_both(item_error: float, deviation_S: float, seeds: int, level: float = LEVEL) -> float:
    """Return half of the interval of a mean over seeds: the root of the squared reaches of its
    normal error over items and of Student's t over seeds.

    ``deviation_S``: standard deviation over seeds, 0 for a single one. Each reach has its own
    quantile, so that a spread that few seeds have by chance too small does not lend the other its
    degrees of freedom. Square-and-add: Zou and Donner, "Construction of confidence limits about
    effect measures", 2008. What varies with item and seed is in both, which errs to the safe side.
    """
    over_items = NORMAL.inv_cdf((1 + level) / 2) * item_error
    over_seeds = t_quantile(seeds - 1, level) * deviation_S / math.sqrt(seeds) if seeds > 1 else 0.0
    return math.hypot(over_items, over_seeds)


def p_of_both(difference: float, item_error: float, deviation_S: float, seeds: int) -> float:
    """Return the two-sided p-value at which 0 ends the interval of :func:`reach_of_both`.

    Raises ``ValueError`` for fewer than two seeds.
    """
    if seeds < 2:
        raise ValueError(f"{seeds} seeds have no spread")
    from scipy.optimize import brentq

    def beyond(p_value: float) -> float:
        return reach_of_both(item_error, deviation_S, seeds, 1 - p_value) - abs(difference)

    if difference == 0:
        return 1.0
    return LEAST_P if beyond(LEAST_P) <= 0 else float(brentq(beyond, LEAST_P, 1.0, xtol=1e-15))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number (Holm, 1979), in the order given."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def most_exchanges(resamples: int, comparisons: int) -> int:
    """Return how many exchanges tell a p-value that is adjusted for so many comparisons."""
    return max(resamples, math.ceil(FEW * comparisons / SIGNIFICANT))


def paired_difference(
    first: Sample, second: Sample, *, comparisons: int = 1
) -> tuple[float | None, SeedInterval | None]:
    """Return the mean difference of two samples, and its interval; without a seed in common, the
    difference of the means alone.
    """
    shared = sorted(first.keys() & second.keys())
    if shared:
        paired_S = [first[seed] - second[seed] for seed in shared]
        return fmean(paired_S), mean_interval(paired_S, comparisons=comparisons)
    if not first or not second:
        return None, None
    return fmean(first.values()) - fmean(second.values()), None


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


def at_place(curve: Curve, place: float) -> float | None:
    """Return the loss at a place, on the straight line between the points around it; None outside
    of the curve, of whose ends :data:`SAME_PLACE` is taken off or on.
    """
    if not curve or not curve[0][0] * (1 - SAME_PLACE) <= place <= curve[-1][0] * (1 + SAME_PLACE):
        return None
    import numpy as np

    places, losses = zip(*curve, strict=True)
    return float(np.interp(place, places, losses))
