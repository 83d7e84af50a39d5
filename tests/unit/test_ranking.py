"""Orders of methods over seeds, and places on curves: by hand, invariances, and scipy's."""

from __future__ import annotations

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revocab.evaluation.over_seeds import (
    at_place,
    crossing,
    mean_curve,
    paired_difference,
    possible_best,
)

NUMBERS = st.floats(-9, 9).map(lambda value: round(value, 3))


def sample(*losses: float) -> dict[int, float]:
    return dict(enumerate(losses, 1))


# Intervals ----------------------------------------------------------------------------------------


def test_differences_are_of_the_seeds_in_common():
    first, second = {1: 3.0, 2: 5.0, 4: 9.0}, {2: 4.0, 1: 1.0, 3: 7.0}
    assert paired_difference(first, second)[0] == 1.5
    value, interval = paired_difference({1: 3.0}, {2: 1.0})
    assert (value, interval) == (2.0, None)
    assert paired_difference({}, {2: 1.0}) == (None, None)


def test_which_may_be_the_best_by_hand():
    """The second is always 0.1 to 0.12 above the first; the third is twice above and once below."""
    best, above, unclear = (
        sample(1.00, 1.01, 1.02), sample(1.10, 1.12, 1.13), sample(1.03, 1.00, 1.06),
    )  # fmt: skip
    assert possible_best([above, best, unclear]) == [False, True, True]
    assert possible_best([sample(1.0, 1.0), sample(2.0, 2.1)]) == [True, True]  # two seeds
    assert possible_best([best]) == [True] and possible_best([]) == []


@given(st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=2, max_size=5), NUMBERS)
def test_the_lowest_mean_may_always_be_the_best(losses, shift):
    samples = [sample(*values) for values in losses]
    marked = possible_best(samples)
    assert marked[min(range(len(losses)), key=lambda n: fmean(losses[n]))]
    assert possible_best(samples[::-1]) == marked[::-1]


# Curves -------------------------------------------------------------------------------------------

CURVE = [(0.0, 4.0), (2.0, 3.0), (4.0, 1.0)]


@pytest.mark.parametrize(
    ("place", "value"),
    [(0, 4), (1, 3.5), (2, 3), (3, 2), (4, 1), (4.003, 1), (4.1, None), (-0.1, None)],
)
def test_a_place_between_points_by_hand(place, value):
    assert at_place(CURVE, place) == value
    assert at_place([], place) is None


def test_means_of_curves_stand_where_all_are():
    other = [(1.0, 1.5), (3.0, 3.0), (5.0, 0.0)]
    assert mean_curve([CURVE, other]) == [(1, 2.5), (2, 2.625), (3, 2.5), (4, 1.25)]
    assert mean_curve([CURVE]) == CURVE
    assert mean_curve([]) == [] and mean_curve([CURVE, []]) == []
    assert mean_curve([CURVE, [(9.0, 1.0), (10.0, 1.0)]]) == []


def test_where_a_curve_goes_below_another_by_hand():
    assert crossing(CURVE, [(0.0, 3.5), (4.0, 3.5)]) == 1
    assert crossing(CURVE, [(0.0, 3.5), (0.5, 3.5)]) is None  # not as far as both were measured
    assert crossing(CURVE, [(1.0, 5.0), (4.0, 5.0)]) == 1
    assert crossing(CURVE, [(0.0, 4.0), (4.0, 4.0)]) == 0
    assert crossing(CURVE, CURVE) is None and crossing([], CURVE) is None
    assert crossing([(0, 2), (1, 0), (2, 2)], [(0, 1), (2, 1)]) == 0.5  # the first of two


CURVES = st.lists(st.tuples(st.floats(0, 9).map(lambda x: round(x, 2)), NUMBERS), min_size=2,
                  max_size=6, unique_by=lambda point: point[0]).map(sorted)  # fmt: skip


@given(CURVES, CURVES, st.floats(0, 1))
def test_a_curve_is_not_below_before_it_crosses(curve, other, share):
    place = crossing(curve, other)
    low, high = max(curve[0][0], other[0][0]), min(curve[-1][0], other[-1][0])
    if low > high:
        assert place is None
        return
    before = low + share * ((high if place is None else place) - low)
    ours, theirs = at_place(curve, before), at_place(other, before)
    if place is None or before < place:
        assert ours >= theirs - 1e-6
