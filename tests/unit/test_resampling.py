"""Intervals and significance against values known otherwise: formulas, enumeration, sacrebleu."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from revocab.evaluation import resampling
from revocab.evaluation.resampling import (
    bootstrap,
    compare,
    corpus_items,
    mean_items,
    mean_of_tasks,
)


def test_the_interval_of_a_mean_is_the_normal_one_for_many_items():
    draw = random.Random(3)
    values = [float(draw.random() < 0.3) for _ in range(2000)]
    mean = sum(values) / len(values)
    stderr = math.sqrt(mean * (1 - mean) / len(values))
    found = bootstrap(mean_items(values))
    assert found.stderr == pytest.approx(stderr, rel=0.08)
    assert found.low == pytest.approx(mean - 1.96 * stderr, abs=0.15 * stderr)
    assert found.high == pytest.approx(mean + 1.96 * stderr, abs=0.15 * stderr)
    assert found == bootstrap(mean_items(values))
    assert found != bootstrap(mean_items(values), seed=18)


def test_parts_count_alike_and_are_resampled_apart():
    values, parts = [1.0] * 9 + [0.0] * 3, [9, 3]
    items = mean_items(values, parts, by_part=True)
    assert items.value() == pytest.approx(0.5)
    found = bootstrap(items)
    assert (found.low, found.high) == pytest.approx((0.5, 0.5))  # no part varies in itself
    assert mean_items(values, parts).value() == pytest.approx(0.75)
    with pytest.raises(ValueError, match="add up"):
        mean_items(values, [9, 4])


def test_one_item_has_no_interval():
    assert bootstrap(mean_items([1.0])) is None
    assert compare(mean_items([1.0]), mean_items([0.0])) is None


def exact_p_value(first, second):
    """Return the p-value over every exchange of items."""
    differences = [a - b for a, b in zip(first, second, strict=True)]
    observed = abs(sum(differences))
    found = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= observed - 1e-9
        for signs in itertools.product([-1, 1], repeat=len(differences))
    ]
    return sum(found) / len(found)


def test_the_permutation_test_against_every_exchange():
    first = [1, 1, 1, 0, 1, 1, 0, 1, 1, 1]
    second = [0, 1, 0, 0, 1, 0, 0, 0, 1, 1]
    expected = exact_p_value(first, second)
    found = compare(mean_items(first), mean_items(second), resamples=20_000)
    assert found.difference == pytest.approx(0.4)
    assert found.p_value == pytest.approx(expected, abs=0.01)
    assert found.low < 0.4 < found.high


def test_a_system_does_not_differ_from_itself():
    items = mean_items([1.0, 0.0, 1.0, 0.5])
    found = compare(items, items)
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)


def test_unlike_items_are_refused():
    with pytest.raises(ValueError, match="items against"):
        compare(mean_items([1.0, 0.0]), mean_items([1.0]))


TEXTS = ["il gatto dorme sul tappeto", "il cane corre nel parco grande", "piove sul bagnato oggi"]
WORSE = ["il gatto dorme", "un cane corre nel parco grande", "piove forte oggi in città"]
REFERENCES = [["il gatto dorme sul divano"], ["il cane corre nel parco"], ["piove sul bagnato"]]


def metrics():
    from sacrebleu.metrics import BLEU, CHRF

    return [CHRF(word_order=2), BLEU()]


def test_corpus_metrics_keep_sacrebleus_value():
    columns = [[one[0] for one in REFERENCES]]
    for metric in metrics():
        items = corpus_items(metric, TEXTS, REFERENCES)
        assert items.value() == metric.corpus_score(TEXTS, columns).score


def test_corpus_metrics_are_scored_anew_for_every_resample(monkeypatch):
    """Each resample equals the metric of the drawn sentences written out."""
    for metric in metrics():
        items = corpus_items(metric, TEXTS, REFERENCES)
        times = np.array([[2.0, 0.0, 1.0]])
        drawn = [0, 0, 2]
        found = items.score(times @ items.counts_NK)[0]
        columns = [[REFERENCES[i][0] for i in drawn]]
        expected = metric.corpus_score([TEXTS[i] for i in drawn], columns).score
        assert found == pytest.approx(expected)
    found = compare(items, corpus_items(metric, WORSE, REFERENCES))
    assert found.difference > 0 and 0 < found.p_value <= 1


def test_mean_of_tasks():
    tasks = [mean_items([1.0, 0.0, 1.0, 1.0]), mean_items([0.0, 0.0], [1, 1], by_part=True)]
    joined = mean_of_tasks(tasks)
    assert joined.value() == pytest.approx((0.75 + 0) / 2)
    assert joined.parts_N.tolist() == [0, 0, 0, 0, 1, 2]


def test_draws_are_complete_and_bounded(monkeypatch):
    monkeypatch.setattr(resampling, "CHUNK", 7)
    monkeypatch.setattr(resampling, "REMEMBERED", 0)
    chunks = list(resampling.draws(np.array([0, 0, 0, 1]), 20, 0))
    assert [len(chunk) for chunk in chunks] == [7, 7, 6]
    times = np.concatenate(chunks)
    assert (times[:, :3].sum(1) == 3).all() and (times[:, 3] == 1).all()


def test_remembered_draws_are_the_drawn_ones():
    parts = np.array([0, 0, 1, 1, 1])
    for kept, new in zip(
        resampling.draws(parts, 250, 3), resampling.drawn(parts, 250, 3), strict=True
    ):
        assert (kept == new).all()
    assert resampling.draws(parts, 250, 3) is resampling.draws(parts, 250, 3)
