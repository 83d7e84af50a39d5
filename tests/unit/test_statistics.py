"""Statistics against scipy and against every case written out."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from scipy import stats

from revocab.evaluation.over_seeds import (
    FEW,
    SIGNIFICANT,
    holm,
    most_exchanges,
)
from revocab.evaluation.resampling import (
    bootstrap,
    mean_items,
    mean_of_seeds,
    permutation,
    score_columns,
    score_interval,
    wilson,
)
from revocab.report.results.significance import adjusted, seed_columns
from revocab.report.tables.significance import is_marked


def right_answers(share: float, seed: int, items: int = 200) -> list[float]:
    draw = random.Random(seed)
    return [float(draw.random() < share) for _ in range(items)]


def p_value(first, second, **options) -> float:
    ours, theirs = mean_items(first), mean_items(second)
    options = {"resamples": 1000, "seed": 17, **options}
    return permutation(ours, theirs, ours.value() - theirs.value(), **options)


def exact_sign_test(first, second) -> float:
    """Return the p-value over every exchange, which of right and wrong answers is McNemar's."""
    lost = sum(a < b for a, b in zip(first, second, strict=True))
    won = sum(a > b for a, b in zip(first, second, strict=True))
    return stats.binomtest(won, won + lost).pvalue


@pytest.mark.parametrize("share", [0.5, 0.55, 0.6, 0.65])
def test_a_p_value_of_accuracies_is_mcnemars(share):
    first, second = right_answers(share, 1), right_answers(0.5, 2)
    exact = exact_sign_test(first, second)
    drawn = p_value(first, second, resamples=20_000)
    assert drawn == pytest.approx(exact, abs=4 * (exact / 20_000) ** 0.5)


def test_a_p_value_of_graded_items_is_scipys_over_every_exchange():
    draw = np.random.default_rng(4)
    first, second = draw.random(12) + 0.2, draw.random(12)
    exact = stats.permutation_test(
        (first, second),
        lambda a, b, axis: a.mean(axis) - b.mean(axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    ).pvalue
    assert p_value(first, second, resamples=20_000) == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("runs", [2, 5, 11, 20])
def test_the_largest_difference_is_significant_in_a_group_of_any_size(runs):
    pairs = runs * (runs - 1) // 2
    first, second = [1.0] * 60, [0.0] * 43 + [1.0] * 17
    p = p_value(first, second, comparisons=pairs)
    assert p * pairs <= SIGNIFICANT / FEW + 1e-3
    assert max(holm([p] * pairs)) < SIGNIFICANT
    assert p == p_value(first, second, comparisons=pairs)


def test_only_small_p_values_take_more_exchanges():
    first, second = right_answers(0.55, 1), right_answers(0.5, 2)
    assert p_value(first, second, comparisons=190) == p_value(first, second)
    assert most_exchanges(1000, 5) == 1000 and most_exchanges(1000, 55) == 11_000


def test_a_small_p_value_is_told_where_its_adjustment_needs_it():
    """The exact one of these is 0.0005: 1000 exchanges cannot tell it, 11,000 can."""
    first, second = [1.0] * 12 + [0.5] * 100, [0.0] * 12 + [0.5] * 100
    exact = exact_sign_test(first, second)
    assert exact == pytest.approx(2 / 2**12)
    found = p_value(first, second, comparisons=55)
    assert found == pytest.approx(exact, abs=4 * (exact / 11_000) ** 0.5)


def test_p_values_are_valid_at_every_level():
    """Of runs that do not differ, at most a share ``level`` gets a p-value as low: also by the two
    numbers of exchanges."""
    draw = np.random.default_rng(0)
    found = []
    for number in range(1000):
        values_N2 = draw.random((30, 2))
        found.append(
            p_value(values_N2[:, 0], values_N2[:, 1], resamples=100, seed=number, comparisons=2)
        )
    for level in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
        beyond = sum(p <= level for p in found)
        assert stats.binomtest(beyond, len(found), level, "greater").pvalue > 0.001, level


def by_every_set(p_values: list[float]) -> list[float]:
    """Return p-values adjusted by the closure of Bonferroni's test, of which Holm's is a form:
    a hypothesis falls where every set of hypotheses with it does."""
    adjusted = []
    numbers = range(len(p_values))
    for i in numbers:
        sets = [s for k in numbers for s in itertools.combinations(numbers, k + 1) if i in s]
        adjusted.append(max(min(1.0, len(s) * min(p_values[j] for j in s)) for s in sets))
    return adjusted


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_the_closed_test(seed):
    draw = random.Random(seed)
    p_values = [draw.choice([0.001, 0.02, draw.random()]) for _ in range(7)]
    assert holm(p_values) == pytest.approx(by_every_set(p_values))
    assert holm([]) == []


@pytest.mark.parametrize(
    ("methods", "seeds", "over_items"),
    [(2, 3, 1.0), (3, 3, 0.0), (3, 3, 1.0), (3, 5, 1.0), (7, 3, 0.3), (12, 3, 0.0), (12, 3, 1.0)],
)
def test_equal_methods_are_marked_in_at_most_a_twentieth_of_columns(methods, seeds, over_items):
    """Methods that differ by their seeds and by which items are in the task, and by nothing else.

    ``over_items``: the spread by items, seeds having 1. A share of 5 % has an error of 0.9 (two
    methods) to 1.8 %.
    """
    draw = np.random.default_rng(methods + seeds)
    columns, marked = max(150, 1200 // methods), 0
    for _ in range(columns):
        scores_MS = draw.normal(size=(methods, seeds)) + over_items * draw.normal(size=(methods, 1))
        rows = [
            compared_by_seed(scores_MS[one], scores_MS[other], over_items * 2**0.5)
            for one, other in itertools.combinations(range(methods), 2)
        ]
        marked += any(map(is_marked, adjusted(rows)))
    assert stats.binomtest(marked, columns, SIGNIFICANT, "greater").pvalue > 0.01, marked


def compared_by_seed(first, second, item_error: float) -> dict:
    """Return the comparison of two methods whose error over items is known."""
    difference, reach = float(np.mean(first - second)), 1.959964 * item_error
    p = 2 * stats.norm.sf(abs(difference) / item_error) if item_error else 0.0
    comparison = {"difference": difference, "low": difference - reach, "p_value": p}
    comparison["high"] = difference + reach
    return {**comparison, **seed_columns([[*first], [*second]], comparison)}


def test_a_large_difference_is_marked_among_equal_methods():
    draw = np.random.default_rng(5)
    scores_MS = draw.normal(size=(7, 3)) + 300 * (np.arange(7) == 2)[:, None]
    pairs = list(itertools.combinations(range(7), 2))
    rows = [compared_by_seed(scores_MS[one], scores_MS[other], 1.0) for one, other in pairs]
    marks = dict(zip(pairs, map(is_marked, adjusted(rows)), strict=True))
    assert {pair for pair in pairs if marks[pair]} == {pair for pair in pairs if 2 in pair}


def test_a_bootstrap_interval_is_that_of_every_resample():
    values = [0.0, 1.0, 0.2, 0.9, 0.4]
    means = [np.mean(drawn) for drawn in itertools.product(values, repeat=len(values))]
    found = bootstrap(mean_items(values), resamples=20_000)
    assert found.stderr == pytest.approx(np.std(means), rel=0.02)
    assert (found.low, found.high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.021)


@pytest.mark.parametrize(("right", "items"), [(0, 10), (3, 10), (10, 10), (71, 200)])
def test_wilsons_interval_is_scipys(right, items):
    theirs = stats.binomtest(right, items).proportion_ci(method="wilson")
    found = wilson(mean_items([1.0] * right + [0.0] * (items - right)))
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97])
@pytest.mark.parametrize("parts", [[30], [10, 40], [30, 30, 30]])
def test_intervals_of_shares_hold_as_often_as_they_say(share, parts):
    """The bootstrap's of 30 items at 0.97 holds in 60 % of cases. Items are counted, so that at one
    share an interval holds somewhat more or less often than in 95 %."""
    draw, held, times = np.random.default_rng(7), 0, 1000
    for _ in range(times):
        items = mean_items([*map(float, draw.random(sum(parts)) < share)], parts, by_part=True)
        found = score_interval(items)
        held += found.low <= share <= found.high
    assert held / times > 0.9, held


def test_one_function_chooses_the_interval_of_a_score():
    assert score_interval(mean_items([1.0])) is None
    whole = score_interval(mean_items([100.0] * 30), whole=100)
    assert (whole.low, whole.high) == pytest.approx((88.65, 100), abs=0.01)
    none = score_columns(mean_items([0.0] * 30), whole=100)
    assert (none["low"], none["high"]) == pytest.approx((0, 11.35), abs=0.01)
    graded = mean_items([0.25, 0.5, 1.0, 0.75])
    assert score_interval(graded) == bootstrap(graded)
    seeds = mean_of_seeds((mean_items([1.0] * 30),) * 3)
    assert score_interval(seeds).low == pytest.approx(0.8865, abs=1e-4)
    alike = mean_items([1.0, 0.0] * 10, [5, 15])
    assert score_interval(alike) == wilson(mean_items([1.0, 0.0] * 10))
