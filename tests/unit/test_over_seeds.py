"""Statistics over seeds, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from revocab.evaluation.over_seeds import (
    deviation,
    p_of_both,
    paired_interval,
    reach_of_both,
    t_quantile,
)
from revocab.evaluation.resampling import (
    bootstrap_scores,
    compare,
    mean_items,
    mean_of_seeds,
)


def test_deviation_by_hand():
    assert deviation([1.0, 2.0, 3.0]) == 1.0
    assert deviation([2.0, 4.0]) == pytest.approx(2**0.5)
    assert deviation([5.0]) is None


#: Two-sided 95 % values as tables of Student's t print them.
PRINTED = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 9: 2.2622, 30: 2.0423}


@pytest.mark.parametrize("freedom", PRINTED)
def test_quantiles_are_those_of_printed_tables(freedom):
    assert t_quantile(freedom) == pytest.approx(PRINTED[freedom], abs=5e-5)


def test_paired_interval_by_hand():
    """Differences 1, 2 and 3: mean 2, deviation 1, 4.3027 / sqrt(3) to either side."""
    found = paired_interval([11, 22, 33], [10, 20, 30])
    assert (found.difference, found.seeds) == (2, 3)
    reach = 4.302653 / 3**0.5
    assert (found.low, found.high) == pytest.approx((2 - reach, 2 + reach), abs=1e-5)


def test_intervals_that_hold_at_once_are_wider_by_hand():
    """Of t with two degrees of freedom a share p lies within p sqrt(2 / (1 - p^2))."""
    interval = paired_interval([11, 22, 33], [10, 20, 30], comparisons=3)
    share = 1 - 0.05 / 3
    reach = share * (2 / (1 - share**2)) ** 0.5 / 3**0.5
    assert reach * 3**0.5 == pytest.approx(7.6488, abs=1e-4)
    assert (interval.low, interval.high) == pytest.approx((2 - reach, 2 + reach))


def test_pairs_of_other_numbers_are_refused_and_one_seed_says_nothing():
    assert paired_interval([1.0], [2.0]) is None
    with pytest.raises(ValueError, match="2 seeds against 1"):
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


@given(st.floats(0.01, 5), st.floats(0.01, 5), st.integers(2, 9), st.sampled_from([0.05, 1e-4]))
def test_a_p_value_is_the_level_that_reaches_zero(item_error, spread, seeds, p):
    reach = reach_of_both(item_error, spread, seeds, 1 - p)
    assert p_of_both(-reach, item_error, spread, seeds) == pytest.approx(p, rel=1e-6)


def test_without_a_spread_one_source_alone_counts():
    assert p_of_both(1.959964, 1.0, 0.0, 3) == pytest.approx(0.05)
    assert p_of_both(4.302653, 0.0, 3**0.5, 3) == pytest.approx(0.05)
    assert p_of_both(0.0, 0.0, 0.0, 3) == 1 and p_of_both(1.0, 0.0, 0.0, 3) < 1e-9
    with pytest.raises(ValueError, match="1 seeds"):
        p_of_both(1.0, 1.0, 0.0, 1)


def test_the_mean_of_seeds_resamples_the_same_items():
    """Whatever items are drawn, its score is the mean of both seeds' scores on these."""
    seeds = [mean_items([1, 0, 1, 1]), mean_items([0, 0, 1, 0])]
    mean = mean_of_seeds(tuple(seeds))
    assert mean.value() == (0.75 + 0.25) / 2
    both = [bootstrap_scores(one, resamples=50) for one in seeds]
    assert bootstrap_scores(mean, resamples=50) == pytest.approx(np.mean(both, axis=0))
    found = compare(mean, mean_of_seeds(tuple(seeds[::-1])), resamples=50)
    assert found.difference == 0 and found.p_value == 1


def test_one_seed_is_its_own_mean():
    (one,) = seeds = [mean_items([1, 0])]
    assert mean_of_seeds(tuple(seeds)) is one
    with pytest.raises(ValueError, match="items of several seeds"):
        mean_of_seeds((one, mean_items([1, 0, 1])))
