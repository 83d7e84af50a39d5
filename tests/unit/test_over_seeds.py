"""Statistics over seeds, orders of methods and curves: by hand, invariances, every case."""

from __future__ import annotations

import itertools
import math
import random
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from revocab.evaluation.over_seeds import (
    SIGNIFICANT,
    at_place,
    deviation,
    holm,
    p_of_both,
    paired_difference,
    paired_interval,
    possible_best,
    reach_of_both,
    t_quantile,
)
from revocab.report.results.significance import adjusted, seed_columns
from revocab.report.tables.significance import is_marked

NUMBERS = st.floats(-9, 9).map(lambda value: round(value, 3))


def test_deviation_by_hand():
    assert deviation([1.0, 2.0, 3.0]) == 1.0
    assert deviation([2.0, 4.0]) == pytest.approx(2**0.5)
    assert deviation([5.0]) is None


#: Two-sided 95 % values as tables of Student's t print them.
PRINTED = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 9: 2.2622, 30: 2.0423}


def test_quantiles_are_those_of_printed_tables():
    assert {freedom: t_quantile(freedom) for freedom in PRINTED} == pytest.approx(PRINTED, abs=5e-5)


def test_paired_intervals_by_hand():
    """Differences 1, 2 and 3: mean 2, deviation 1. Of t with two degrees of freedom a share p lies
    within p sqrt(2 / (1 - p^2)); intervals that hold at once are wider."""
    for comparisons, quantile in ((1, 4.302653), (3, 7.6488)):
        found = paired_interval([11, 22, 33], [10, 20, 30], comparisons=comparisons)
        share = 1 - 0.05 / comparisons
        reach = share * (2 / (1 - share**2)) ** 0.5 / 3**0.5
        assert reach * 3**0.5 == pytest.approx(quantile, abs=1e-4)
        assert (found.difference, found.seeds) == (2, 3)
        assert (found.low, found.high) == pytest.approx((2 - reach, 2 + reach), abs=1e-5)
    assert paired_interval([1.0], [2.0]) is None  # one seed says nothing
    with pytest.raises(ValueError, match="zip"):
        paired_interval([1, 2], [1])


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=2, max_size=6))
def test_the_other_way_round_is_the_negative(pairs):
    first, second = zip(*pairs, strict=True)
    one, other = paired_interval(first, second), paired_interval(second, first)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert one.low <= one.difference <= one.high


def test_the_reach_over_items_and_seeds_by_hand():
    """1.96 errors over items and 4.3027 / sqrt(3) deviations over seeds, at right angles."""
    reach = reach_of_both(0.5, 2.0, 3)
    assert reach == pytest.approx(math.hypot(1.959964 * 0.5, 4.302653 / 3**0.5 * 2.0))
    assert reach_of_both(0.5, 0.0, 1) == pytest.approx(0.979982)
    # Without a spread one source alone counts.
    assert p_of_both(1.959964, 1.0, 0.0, 3) == pytest.approx(0.05)
    assert p_of_both(4.302653, 0.0, 3**0.5, 3) == pytest.approx(0.05)
    assert p_of_both(0.0, 0.0, 0.0, 3) == 1 and p_of_both(1.0, 0.0, 0.0, 3) < 1e-9
    with pytest.raises(ValueError, match="1 seeds"):
        p_of_both(1.0, 1.0, 0.0, 1)


@given(st.floats(0.01, 5), st.floats(0.01, 5), st.integers(2, 9), st.sampled_from([0.05, 1e-4]))
def test_a_p_value_is_the_level_that_reaches_zero(item_error, spread, seeds, p):
    reach = reach_of_both(item_error, spread, seeds, 1 - p)
    assert p_of_both(-reach, item_error, spread, seeds) == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_the_closed_test(seed):
    """The closure of Bonferroni's: one falls where every set of hypotheses with it does."""
    draw = random.Random(seed)
    p_values = [draw.choice([0.001, 0.02, draw.random()]) for _ in range(7)]
    sets = [s for k in range(7) for s in itertools.combinations(range(7), k + 1)]
    expected = [
        max(min(1.0, len(s) * min(p_values[j] for j in s)) for s in sets if i in s)
        for i in range(7)
    ]
    assert holm(p_values) == pytest.approx(expected)
    assert holm([]) == []


def compared_by_seed(first, second, item_error: float) -> dict:
    """Return the comparison of two methods whose error over items is known."""
    difference, reach = float(np.mean(first - second)), 1.959964 * item_error
    p = 2 * stats.norm.sf(abs(difference) / item_error) if item_error else 0.0
    comparison = {"difference": difference, "low": difference - reach, "p_value": p}
    comparison["high"] = difference + reach
    return {**comparison, **seed_columns([[*first], [*second]], comparison)}


@pytest.mark.parametrize(
    ("methods", "seeds", "over_items"),
    [(2, 3, 1.0), (3, 3, 0.0), (3, 3, 1.0), (3, 5, 1.0), (7, 3, 0.3), (12, 3, 1.0)],
)
def test_equal_methods_are_marked_in_at_most_a_twentieth_of_columns(methods, seeds, over_items):
    """Methods that differ by their seeds and by which items are in the task, and by nothing else.

    ``over_items``: the spread by items, seeds having 1. A share of 5 % has an error of 0.9 (two
    methods) to 2.2 %.
    """
    draw = np.random.default_rng(methods + seeds)
    columns, marked = max(100, 1200 // methods), 0
    for _ in range(columns):
        scores_MS = draw.normal(size=(methods, seeds)) + over_items * draw.normal(size=(methods, 1))
        rows = [
            compared_by_seed(scores_MS[one], scores_MS[other], over_items * 2**0.5)
            for one, other in itertools.combinations(range(methods), 2)
        ]
        marked += any(map(is_marked, adjusted(rows)))
    assert stats.binomtest(marked, columns, SIGNIFICANT, "greater").pvalue > 0.01, marked


def test_a_large_difference_is_marked_among_equal_methods():
    draw = np.random.default_rng(5)
    scores_MS = draw.normal(size=(7, 3)) + 300 * (np.arange(7) == 2)[:, None]
    pairs = list(itertools.combinations(range(7), 2))
    rows = [compared_by_seed(scores_MS[one], scores_MS[other], 1.0) for one, other in pairs]
    marks = dict(zip(pairs, map(is_marked, adjusted(rows)), strict=True))
    assert {pair for pair in pairs if marks[pair]} == {pair for pair in pairs if 2 in pair}


def sample(*losses: float) -> dict[int, float]:
    return dict(enumerate(losses, 1))


def test_differences_are_of_the_seeds_in_common():
    first, second = {1: 3.0, 2: 5.0, 4: 9.0}, {2: 4.0, 1: 1.0, 3: 7.0}
    assert paired_difference(first, second)[0] == 1.5
    assert paired_difference({1: 3.0}, {2: 1.0}) == (2.0, None)
    assert paired_difference({}, {2: 1.0}) == (None, None)


def test_which_may_be_the_best_by_hand():
    """The second is always 0.1 to 0.12 above the first; the third is twice above and once below."""
    best, above, unclear = (
        sample(1.00, 1.01, 1.02), sample(1.10, 1.12, 1.13), sample(1.03, 1.00, 1.06),
    )  # fmt: skip
    assert possible_best([above, best, unclear]) == [False, True, True]
    assert possible_best([sample(1.0, 1.0), sample(2.0, 2.1)]) == [True, True]  # two seeds
    assert possible_best([best]) == [True] and possible_best([]) == []


@given(st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=2, max_size=5))
def test_the_lowest_mean_may_always_be_the_best(losses):
    samples = [sample(*values) for values in losses]
    marked = possible_best(samples)
    assert marked[min(range(len(losses)), key=lambda n: fmean(losses[n]))]
    assert possible_best(samples[::-1]) == marked[::-1]


CURVE = [(0.0, 4.0), (2.0, 3.0), (4.0, 1.0)]
#: Losses by place, some a little beyond the curve's ends.
BETWEEN = {0: 4, 1: 3.5, 2: 3, 3: 2, 4: 1, 4.003: 1, 4.1: None, -0.1: None}


def test_places_between_points_by_hand():
    assert {place: at_place(CURVE, place) for place in BETWEEN} == BETWEEN
    assert at_place([], 1) is None
    later = [(1000.0, 4.0), (2000.0, 3.0)]
    assert [at_place(later, place) for place in (998, 999.5, 2001, 2003)] == [None, 4, 3, None]
