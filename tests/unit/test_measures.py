"""Measures by hand, against scikit-learn, and as functions of items that are resampled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from revocab.errors import RevocabError
from revocab.evaluation.measures import (
    OF_LABELS,
    category_weights,
    items_of,
    label_items,
    together,
)
from revocab.evaluation.multiple_choice.task_file import Metadata
from revocab.evaluation.resampling import bootstrap, compare, mean_items, mean_of_tasks

#: Gold 0 0 0 1 1 2, predicted 0 0 1 1 0 0; the fourth of the labels is neither.
PAIRS = [[0, 0], [0, 0], [0, 1], [1, 1], [1, 0], [2, 0]]
LABELS = st.integers(min_value=0, max_value=3)
SOME_PAIRS = st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=40)


def value(pairs, metric: str) -> float:
    return label_items(pairs, 4, metric).value()


def test_by_hand():
    # F1: of 0, 2·2 / (3 + 4); of 1, 2·1 / (2 + 2); of 2, which is never said, 0.
    f1 = (4 / 7 + 1 / 2 + 0) / 3
    assert value(PAIRS, "macro_f1") == pytest.approx(f1)
    assert value(PAIRS, "acc_f1") == pytest.approx((3 / 6 + f1) / 2)
    # 3·6 - (4·3 + 2·2 + 0·1) = 2; 36 - (16 + 4) = 16; 36 - (9 + 4 + 1) = 22
    assert value(PAIRS, "mcc") == pytest.approx(2 / np.sqrt(16 * 22))
    # Of two labels: (tp·tn - fp·fn) / √((tp + fp)(tp + fn)(tn + fp)(tn + fn))
    binary = [[1, 1]] * 6 + [[0, 0]] * 3 + [[0, 1]] * 1 + [[1, 0]] * 2
    assert value(binary, "mcc") == pytest.approx((6 * 3 - 1 * 2) / np.sqrt(7 * 8 * 4 * 5))
    assert value(binary, "acc_mcc") == pytest.approx((9 / 12 + 16 / np.sqrt(1120)) / 2)


def test_who_always_says_the_same_has_no_correlation():
    assert value([[0, 1], [1, 1], [1, 1]], "mcc") == 0
    assert value([[1, 0], [1, 1], [1, 1]], "mcc") == 0
    assert value([[1, 1]], "mcc") == 0 and value([[1, 1]], "macro_f1") == 1


@given(SOME_PAIRS)
def test_as_scikit_learn(pairs):
    metrics = pytest.importorskip("sklearn.metrics")
    gold, predicted = zip(*pairs, strict=True)
    f1 = metrics.f1_score(gold, predicted, average="macro", zero_division=0)
    assert value(pairs, "macro_f1") == pytest.approx(f1)
    assert value(pairs, "mcc") == pytest.approx(metrics.matthews_corrcoef(gold, predicted))
    accuracy = metrics.accuracy_score(gold, predicted)
    assert value(pairs, "acc_f1") == pytest.approx((accuracy + f1) / 2)


@given(st.data(), SOME_PAIRS)
def test_the_order_of_items_does_not_matter(data, pairs):
    moved = data.draw(st.permutations(pairs))
    for metric in OF_LABELS:
        assert value(moved, metric) == pytest.approx(value(pairs, metric))
    scored = [(float(gold == said), gold) for gold, said in pairs]
    orders = [
        together(*zip(*order, strict=True))
        for order in (scored, data.draw(st.permutations(scored)))
    ]
    assert sorted(orders[0]) == sorted(orders[1])


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
    with pytest.raises(ValueError, match="b: of several categories; c: without items"):
        category_weights(["a", "b"], {"one": ["a", "b"], "two": ["b", "c"]})
    with pytest.raises(ValueError, match="b: of no category"):
        category_weights(["a", "b"], {"one": ["a"]})


def test_two_systems_are_compared_item_by_item():
    generator = np.random.default_rng(1)
    gold = generator.integers(0, 3, 300)
    blind = generator.integers(0, 3, 300)
    good = np.where(generator.random(300) < 0.7, gold, blind)
    first, second = (
        label_items(zip(gold.tolist(), said.tolist(), strict=True), 3, "acc_f1")
        for said in (good, blind)
    )
    found = compare(first, second)
    assert found.low > 0 and found.p_value < 0.01
    assert found.difference == pytest.approx(first.value() - second.value())
    same = compare(first, first)
    assert same.difference == 0 and same.p_value == 1


def test_a_mean_over_tasks_of_any_measure():
    tasks = [
        label_items(PAIRS, 4, "acc_f1"),
        mean_items([1.0, 0.0, 1.0]),
        label_items(PAIRS, 4, "mcc"),
    ]
    both = mean_of_tasks(tasks)
    assert both.value() == pytest.approx(np.mean([task.value() for task in tasks]))
    # Tasks are independent: variances add up.
    errors = [bootstrap(task, 4000).stderr for task in tasks]
    assert bootstrap(both, 4000).stderr == pytest.approx(
        np.sqrt(np.square(errors).sum()) / 3, rel=0.1
    )


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"measure": {"labels": "f1"}}, "acc_f1"),
        ({"measure": {}}, "labels"),
        ({"measure": {"labels": "mcc", "together": "id"}}, "labels"),
        ({"measure": {"categories": {"a": ["b"]}}}, "mean_over"),
        ({"variants": {"a": [0, 1], "b": [0, 1]}}, "variants"),
        ({"variants": {"a": [0]}}, "variants"),
    ],
)
def test_wrong_keys_are_refused(metadata, said):
    from revocab.closed import checked

    with pytest.raises(RevocabError, match=said):
        checked(Metadata, metadata, "task.yaml: metadata")
