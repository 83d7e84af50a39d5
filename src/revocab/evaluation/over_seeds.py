"""When a difference is real: over seeds, and among several comparisons. Nothing here needs numpy.

There are two sources of chance. Which items are in a task is resampled
(:mod:`revocab.evaluation.resampling`); which seed a model was trained with is repeated here. A
difference is real where it is larger than both together. Arrays ``values_S`` have one value per
seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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
        level = level_of(comparisons)
        reach = reach_of_both(self.item_error, self.deviation, self.seeds, level)
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


def within(t: float, freedom: int) -> float:
    """Return the share of Student's t distribution between ``-t`` and ``t``.

    The finite sums for whole degrees of freedom: Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = math.atan(t / math.sqrt(freedom))
    term, total = (math.cos(angle), 0.0) if freedom % 2 else (1.0, 0.0)
    for power in range(freedom % 2, freedom - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * math.cos(angle) ** 2
    if freedom % 2:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total


@cache
def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """Return the ``t`` within which a share ``level`` of Student's t distribution lies."""
    low, high = 0.0, 1.0
    while within(high, freedom) < level:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle, freedom) < level else (low, middle)
    return high


def paired_interval(
    first_S: Sequence[float], second_S: Sequence[float], *, comparisons: int = 1
) -> SeedInterval | None:
    """Return the t interval of the mean difference of scores with equal seeds, in the same order.

    It is one of ``comparisons`` intervals that all hold at once with :data:`LEVEL` (Bonferroni).
    None for fewer than two seeds. Raises ``ValueError`` if the numbers of seeds differ.
    """
    if len(first_S) != len(second_S):
        raise ValueError(f"{len(first_S)} seeds against {len(second_S)}")
    differences_S = [first - other for first, other in zip(first_S, second_S, strict=True)]
    spread = deviation(differences_S)
    if spread is None:
        return None
    count, mean = len(differences_S), fmean(differences_S)
    reach = t_quantile(count - 1, level_of(comparisons)) * spread / math.sqrt(count)
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
    """Return the two-sided p-value at which 0 is at the end of the interval of
    :func:`reach_of_both`. Raises ``ValueError`` for fewer than two seeds.
    """
    if seeds < 2:
        raise ValueError(f"{seeds} seeds have no spread")
    size, seed_error = abs(difference), deviation_S / math.sqrt(seeds)
    if size == 0:
        return 1.0
    if seed_error == 0:
        return max(LEAST_P, 2 * NORMAL.cdf(-size / item_error)) if item_error else LEAST_P
    low, high, p_value = 0.0, size / seed_error, LEAST_P
    for _ in range(50):
        t = (low + high) / 2
        p_value = max(LEAST_P, 1 - within(t, seeds - 1))
        inside = math.hypot(t * seed_error, NORMAL.inv_cdf(p_value / 2) * item_error) < size
        low, high = (t, high) if inside else (low, t)
    return p_value


def excludes_zero(low: float, high: float) -> bool:
    return low > 0 or high < 0


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
