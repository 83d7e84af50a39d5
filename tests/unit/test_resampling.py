"""Scores of items, their intervals and p-values: by hand, by enumeration, scipy's, sacrebleu's."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from revocab.closed import checked
from revocab.errors import RevocabError
from revocab.evaluation import metrics, resampling
from revocab.evaluation.multiple_choice.task_file import Metadata
from revocab.evaluation.over_seeds import FEW, SIGNIFICANT, holm, most_exchanges
from revocab.evaluation.resampling import (
    OF_LABELS,
    Items,
    bootstrap,
    bootstrap_scores,
    category_weights,
    compare,
    items_of,
    label_items,
    mean_items,
    mean_of_seeds,
    mean_of_tasks,
    permutation,
    score_columns,
    together,
    wilson,
)

# Scores -------------------------------------------------------------------------------------------

#: Gold 0 0 0 1 1 2, predicted 0 0 1 1 0 0; the fourth of the labels is neither.
PAIRS = [[0, 0], [0, 0], [0, 1], [1, 1], [1, 0], [2, 0]]
BINARY = [[1, 1]] * 6 + [[0, 0]] * 3 + [[0, 1]] * 1 + [[1, 0]] * 2
LABELS = st.integers(min_value=0, max_value=3)
SOME_PAIRS = st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=40)
#: F1 of label 0: 2·2 / (3 + 4); of 1: 2·1 / (2 + 2); of 2, which is never said: 0.
F1 = (4 / 7 + 1 / 2 + 0) / 3


def value(pairs, metric: str) -> float:
    return label_items(pairs, 4, metric).value()


@pytest.mark.parametrize(
    ("pairs", "metric", "expected"),
    [
        (PAIRS, "macro_f1", F1),
        (PAIRS, "acc_f1", (3 / 6 + F1) / 2),
        # 3·6 - (4·3 + 2·2 + 0·1) = 2; 36 - (16 + 4) = 16; 36 - (9 + 4 + 1) = 22
        (PAIRS, "mcc", 2 / np.sqrt(16 * 22)),
        # Of two labels: (tp·tn - fp·fn) / √((tp + fp)(tp + fn)(tn + fp)(tn + fn))
        (BINARY, "mcc", (6 * 3 - 1 * 2) / np.sqrt(7 * 8 * 4 * 5)),
        (BINARY, "acc_mcc", (9 / 12 + 16 / np.sqrt(1120)) / 2),
        # Who always says the same has no correlation.
        ([[0, 1], [1, 1], [1, 1]], "mcc", 0),
        ([[1, 0], [1, 1], [1, 1]], "mcc", 0),
        ([[1, 1]], "mcc", 0),
        ([[1, 1]], "macro_f1", 1),
    ],
)
def test_measures_of_labels_by_hand(pairs, metric, expected):
    assert value(pairs, metric) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:A single label")
@settings(max_examples=30)
@given(st.data(), SOME_PAIRS)
def test_measures_of_labels_are_scikit_learns_in_any_order(data, pairs):
    theirs = pytest.importorskip("sklearn.metrics")
    gold, predicted = zip(*pairs, strict=True)
    f1 = theirs.f1_score(gold, predicted, average="macro", zero_division=0)
    accuracy = theirs.accuracy_score(gold, predicted)
    mcc = theirs.matthews_corrcoef(gold, predicted)
    moved = data.draw(st.permutations(pairs))
    expected = {"macro_f1": f1, "mcc": mcc, "acc_f1": (accuracy + f1) / 2}
    for metric in OF_LABELS:
        of_metric = expected.get(metric, (accuracy + mcc) / 2)
        assert value(pairs, metric) == pytest.approx(of_metric)
        assert value(moved, metric) == pytest.approx(of_metric)


def test_groups_are_right_together():
    assert together([1, 1, 0, 1, 1, 1], ["a", "b", "a", "b", "c", "c"]) == [0, 1, 1]
    row = {"metric": "acc_together", "values": [0, 1, 1, 0], "parts": [4], "by_part": False}
    items = items_of(row)
    assert items.value() == 0.5
    # √(p (1 - p) / (n - 1)) of 4 pairs and not of 8 items.
    assert bootstrap(items, 4000).stderr == pytest.approx(np.sqrt(0.25 / 4), rel=0.05)


def test_categories_count_alike_and_so_do_their_parts():
    weights = category_weights(["a", "b", "c"], {"one": ["a", "c"], "two": ["b"]})
    assert weights == [1 / 4, 1 / 2, 1 / 4]
    # Parts of 1, 2 and 3 items with means 1, 1/2 and 1/3: ((1 + 1/3) / 2 + 1/2) / 2
    row = {"metric": "acc_categories", "values": [1, 1, 0, 0, 0, 1], "parts": [1, 2, 3]}
    assert items_of({**row, "by_part": weights}).value() == pytest.approx((2 / 3 + 1 / 2) / 2)
    with pytest.raises(ValueError, match=r"b: .*; c: "):
        category_weights(["a", "b"], {"one": ["a", "b"], "two": ["b", "c"]})
    with pytest.raises(ValueError, match="b: "):
        category_weights(["a", "b"], {"one": ["a"]})


@pytest.mark.parametrize(
    ("metadata", "key"),
    [
        ({"measure": {"labels": "f1"}}, "acc_f1"),
        ({"measure": {}}, "labels"),
        ({"measure": {"labels": "mcc", "together": "id"}}, "labels"),
        ({"measure": {"categories": {"a": ["b"]}}}, "mean_over"),
        ({"variants": {"a": [0, 1], "b": [0, 1]}}, "variants"),
        ({"variants": {"a": [0]}}, "variants"),
    ],
)
def test_wrong_measures_of_a_task_are_named(metadata, key):
    with pytest.raises(RevocabError, match=key):
        checked(Metadata, metadata, "task.yaml: metadata")


def test_parts_count_alike_and_are_resampled_apart():
    values, parts = [1.0] * 9 + [0.0] * 3, [9, 3]
    items = mean_items(values, parts, by_part=True)
    assert items.value() == pytest.approx(0.5)
    found = bootstrap(items)
    assert (found.low, found.high) == pytest.approx((0.5, 0.5))  # no part varies in itself
    assert mean_items(values, parts).value() == pytest.approx(0.75)
    with pytest.raises(ValueError, match=r"\[9, 4\].* 12 items"):
        mean_items(values, [9, 4])


TEXTS = ["il gatto dorme sul tappeto", "il cane corre nel parco grande", "piove sul bagnato oggi"]
WORSE = ["il gatto dorme", "un cane corre nel parco grande", "piove forte oggi in città"]
REFERENCES = [["il gatto dorme sul divano"], ["il cane corre nel parco"], ["piove sul bagnato"]]


@pytest.mark.parametrize("name", ["chrf", "bleu"])
def test_corpus_metrics_are_sacrebleus_of_the_drawn_sentences(name):
    from sacrebleu.metrics import BLEU, CHRF

    metric = CHRF(word_order=2) if name == "chrf" else BLEU()
    items, worse = (
        (metrics.CHRF if name == "chrf" else metrics.BLEU).items(
            [{"output": a, "references": b} for a, b in zip(texts, REFERENCES, strict=True)], []
        )
        for texts in (TEXTS, WORSE)
    )
    for times in ([1, 1, 1], [2, 0, 1]):
        drawn = np.repeat(range(3), times)
        columns = [[REFERENCES[i][0] for i in drawn]]
        expected = metric.corpus_score([TEXTS[i] for i in drawn], columns).score
        assert items.score(np.array([times], dtype=float) @ items.counts_NK)[0] == expected
    found = compare(items, worse)
    assert found.difference > 0 and 0 < found.p_value <= 1


def test_a_mean_over_tasks_of_any_measure():
    tasks = [mean_items([1.0, 0.0, 1.0, 1.0]), mean_items([0.0, 0.0], [1, 1], by_part=True)]
    joined = mean_of_tasks(tasks)
    assert joined.value() == pytest.approx((0.75 + 0) / 2)
    assert joined.parts_N.tolist() == [0, 0, 0, 0, 1, 2]
    tasks = [label_items(PAIRS, 4, "acc_f1"), mean_items([1, 0, 1]), label_items(PAIRS, 4, "mcc")]
    both = mean_of_tasks(tasks)
    assert both.value() == pytest.approx(np.mean([task.value() for task in tasks]))
    # Tasks are independent: variances add up.
    errors = [bootstrap(task, 4000).stderr for task in tasks]
    joint = np.sqrt(np.square(errors).sum()) / 3
    assert bootstrap(both, 4000).stderr == pytest.approx(joint, rel=0.1)


def test_the_mean_of_seeds_resamples_the_same_items():
    """Whatever items are drawn, its score is the mean of both seeds' scores on these."""
    seeds = [mean_items([1, 0, 1, 1]), mean_items([0, 0, 1, 0])]
    mean = mean_of_seeds(tuple(seeds))
    assert mean.value() == (0.75 + 0.25) / 2
    both = [bootstrap_scores(of_seed, resamples=50) for of_seed in seeds]
    assert bootstrap_scores(mean, resamples=50) == pytest.approx(np.mean(both, axis=0))
    found = compare(mean, mean_of_seeds(tuple(seeds[::-1])), resamples=50)
    assert found.difference == 0 and found.p_value == 1
    assert mean_of_seeds((seeds[0],)) is seeds[0]
    with pytest.raises(ValueError, match=r"\(3, 1\), \(4, 1\)"):
        mean_of_seeds((seeds[0], mean_items([1, 0, 1])))


# Draws and intervals ------------------------------------------------------------------------------


def test_draws_are_complete_bounded_and_remembered_as_drawn(monkeypatch):
    parts = np.array([0, 0, 1, 1, 1])
    for remembered, new in zip(
        resampling.draws(parts, 250, 3), resampling.new_draws(parts, 250, 3), strict=True
    ):
        assert (remembered == new).all()
    assert resampling.draws(parts, 250, 3) is resampling.draws(parts, 250, 3)
    monkeypatch.setattr(resampling, "CHUNK", 7)
    monkeypatch.setattr(resampling, "REMEMBERED", 0)
    chunks = list(resampling.draws(np.array([0, 0, 0, 1]), 20, 0))
    assert [len(chunk) for chunk in chunks] == [7, 7, 6]
    times = np.concatenate(chunks)
    assert (times[:, :3].sum(1) == 3).all() and (times[:, 3] == 1).all()


def test_a_bootstrap_interval_is_that_of_every_resample():
    values = [0.0, 1.0, 0.2, 0.9, 0.4]
    means = [np.mean(drawn) for drawn in itertools.product(values, repeat=len(values))]
    found = bootstrap(mean_items(values), resamples=20_000)
    assert found.stderr == pytest.approx(np.std(means), rel=0.02)
    assert (found.low, found.high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.021)
    assert bootstrap(mean_items(values)) == bootstrap(mean_items(values))
    assert bootstrap(mean_items(values)) != bootstrap(mean_items(values), seed=18)


@pytest.mark.parametrize(("right", "items"), [(0, 10), (3, 10), (10, 10), (71, 200)])
def test_wilsons_interval_is_scipys(right, items):
    theirs = stats.binomtest(right, items).proportion_ci(method="wilson")
    for whole in (1, 100):
        found = wilson(mean_items([whole] * right + [0.0] * (items - right)), whole)
        assert (found.low, found.high) == pytest.approx((whole * theirs.low, whole * theirs.high))
    assert wilson(mean_items([0.0, 0.5])) is None


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97])
@pytest.mark.parametrize("parts", [[30], [10, 40], [30, 30, 30]])
def test_intervals_of_shares_hold_as_often_as_they_say(share, parts):
    """The bootstrap's of 30 items at 0.97 holds in 60 % of cases. Items are counted, so that at one
    share an interval holds somewhat more or less often than in 95 %."""
    draw, held, times = np.random.default_rng(7), 0, 600
    for _ in range(times):
        items = mean_items([*map(float, draw.random(sum(parts)) < share)], parts, by_part=True)
        found = score_columns(items)
        held += found["low"] <= share <= found["high"]
    assert held / times > 0.9, held


def test_one_function_chooses_the_interval_of_a_score():
    alone = score_columns(mean_items([1.0]))
    assert alone == {"value": 1, "low": None, "high": None, "stderr": None}
    for value, low, high in ((100.0, 88.65, 100), (0.0, 0, 11.35)):
        found = score_columns(mean_items([value] * 30), whole=100)
        assert (found["low"], found["high"]) == pytest.approx((low, high), abs=0.01)
    graded = mean_items([0.25, 0.5, 1.0, 0.75])
    assert score_columns(graded)["low"] == bootstrap(graded).low
    seeds = mean_of_seeds((mean_items([1.0] * 30),) * 3)
    assert score_columns(seeds)["low"] == pytest.approx(0.8865, abs=1e-4)
    alike = mean_items([1.0, 0.0] * 10, [5, 15])
    assert wilson(alike) == wilson(mean_items([1.0, 0.0] * 10))


# Comparisons --------------------------------------------------------------------------------------


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
    found = compare(mean_items(first), mean_items(second), resamples=20_000)
    assert found.p_value == pytest.approx(exact, abs=0.01)
    assert found.difference == pytest.approx(first.mean() - second.mean())
    assert found.low < found.difference < found.high


def test_a_system_does_not_differ_from_itself_and_unlike_items_are_refused():
    items = mean_items([1.0, 0.0, 1.0, 0.5])
    found = compare(items, items)
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)
    assert compare(mean_items([1.0]), mean_items([0.0])) is None
    pair = compare(mean_items([1.0, 1.0]), mean_items([0.0, 0.0]))
    assert pair is not None and pair.difference == pair.low == pair.high == 1
    with pytest.raises(ValueError, match=r"\(4, 1\) items against \(1, 1\)"):
        compare(items, mean_items([1.0]))


def test_systems_of_labels_are_compared_item_by_item():
    generator = np.random.default_rng(1)
    gold, blind = generator.integers(0, 3, (2, 300))
    good = np.where(generator.random(300) < 0.7, gold, blind)

    def items(predicted: np.ndarray) -> Items:
        return label_items(np.stack([gold, predicted], axis=1).tolist(), 3, "acc_f1")

    found = compare(items(good), items(blind))
    assert found.low > 0 and found.p_value < 0.01
    assert found.difference == pytest.approx(items(good).value() - items(blind).value())


@pytest.mark.parametrize("runs", [2, 5, 11, 20])
def test_the_largest_difference_is_significant_in_a_group_of_any_size(runs):
    pairs = runs * (runs - 1) // 2
    first, second = [1.0] * 60, [0.0] * 43 + [1.0] * 17
    p = p_value(first, second, comparisons=pairs)
    assert p * pairs <= SIGNIFICANT / FEW + 1e-3
    assert max(holm([p] * pairs)) < SIGNIFICANT
    assert p == p_value(first, second, comparisons=pairs)


def test_a_small_p_value_is_told_where_its_adjustment_needs_it():
    """The exact one of these is 0.0005: 1000 exchanges cannot tell it, 11,000 can."""
    first, second = [1.0] * 12 + [0.5] * 100, [0.0] * 12 + [0.5] * 100
    exact = exact_sign_test(first, second)
    assert exact == pytest.approx(2 / 2**12)
    found = p_value(first, second, comparisons=55)
    assert found == pytest.approx(exact, abs=4 * (exact / 11_000) ** 0.5)
    # Only small ones take more exchanges.
    first, second = right_answers(0.55, 1), right_answers(0.5, 2)
    assert p_value(first, second, comparisons=190) == p_value(first, second)
    assert most_exchanges(1000, 5) == 1000 and most_exchanges(1000, 55) == 11_000


def test_p_values_are_valid_at_every_level():
    """Of runs that do not differ, at most a share ``level`` gets a p-value as low: also by the two
    numbers of exchanges."""
    draw = np.random.default_rng(0)
    found = [
        p_value(*draw.random((2, 30)), resamples=100, seed=number, comparisons=2)
        for number in range(1000)
    ]
    for level in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
        beyond = sum(p <= level for p in found)
        assert stats.binomtest(beyond, len(found), level, "greater").pvalue > 0.001, level
