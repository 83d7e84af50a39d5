"""Scores of a task that are no plain mean of its items.

Three kinds: of gold and predicted labels (macro-F1, Matthews correlation, their means with the
accuracy), of items that are right only together, and of categories of parts. Every one is a
function of sums over items (:mod:`revocab.evaluation.resampling`), so that it is resampled as any
score is; items that belong together are resampled as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from revocab.evaluation.resampling import Items, mean_items


def accuracy(counts_RLL: np.ndarray) -> np.ndarray:
    """Return the share of items [R] whose prediction is their gold label.

    ``counts_RLL`` count items by gold label (rows) and predicted label (columns).
    """
    return np.trace(counts_RLL, axis1=1, axis2=2) / counts_RLL.sum(axis=(1, 2))


def macro_f1(counts_RLL: np.ndarray) -> np.ndarray:
    """Return the unweighted mean [R] of F1 over the labels that are gold or predicted at all.

    A label that is never predicted, or never gold, has 0, as in scikit-learn.
    """
    right_RL = np.diagonal(counts_RLL, axis1=1, axis2=2)
    either_RL = counts_RLL.sum(axis=1) + counts_RLL.sum(axis=2)
    f1_RL = np.divide(2 * right_RL, either_RL, out=np.zeros(either_RL.shape), where=either_RL > 0)
    return f1_RL.sum(axis=1) / (either_RL > 0).sum(axis=1)


def mcc(counts_RLL: np.ndarray) -> np.ndarray:
    """Return Matthews' correlation [R] of any number of labels; 0 where either side is constant.

    Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient", 2004,
    equation 8.
    """
    predicted_RL, gold_RL = counts_RLL.sum(axis=1), counts_RLL.sum(axis=2)
    total_R = gold_RL.sum(axis=1)
    right_R = np.trace(counts_RLL, axis1=1, axis2=2)
    covariance_R = right_R * total_R - (predicted_RL * gold_RL).sum(axis=1)
    of_predicted_R, of_gold_R = (
        total_R**2 - (side_RL**2).sum(axis=1) for side_RL in (predicted_RL, gold_RL)
    )
    spread_R = np.sqrt(of_predicted_R * of_gold_R)
    return np.divide(covariance_R, spread_R, out=np.zeros(spread_R.shape), where=spread_R > 0)


#: What each of :data:`revocab.evaluation.metric.LABEL_METRICS` is the mean of.
OF_LABELS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], ...]] = {
    "macro_f1": (macro_f1,),
    "mcc": (mcc,),
    "acc_f1": (accuracy, macro_f1),
    "acc_mcc": (accuracy, mcc),
}


def label_items(pairs: Iterable[Sequence[int]], labels: int, metric: str) -> Items:
    """Return items whose score is a metric of :data:`OF_LABELS`.

    ``pairs`` are the gold and predicted label of each item, from 0 to ``labels`` - 1.
    """
    pairs_N2 = np.array(list(pairs), dtype=int)
    counts_NK = np.zeros((len(pairs_N2), labels**2))
    counts_NK[np.arange(len(pairs_N2)), pairs_N2 @ [labels, 1]] = 1

    def score(sums_RK: np.ndarray) -> np.ndarray:
        counts_RLL = sums_RK.reshape(-1, labels, labels)
        return np.mean([part(counts_RLL) for part in OF_LABELS[metric]], axis=0)

    return Items(counts_NK, np.ones(len(pairs_N2)), np.zeros(len(pairs_N2), dtype=int), score)


def together(values: Iterable[float], groups: Iterable[Hashable]) -> list[float]:
    products: dict[Hashable, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        products.setdefault(group, []).append(value)
    return [math.prod(members) for members in products.values()]


def category_weights(parts: Sequence[str], categories: Mapping[str, Sequence[str]]) -> list[float]:
    """Return what each part weighs in a mean over categories, of the means over their parts.

    Raises ``ValueError`` naming parts of no category or of several, and those that are not there.
    """
    listed = [part for members in categories.values() for part in members]
    wrong = {
        "of no category": set(parts) - set(listed),
        "of several categories": {part for part in listed if listed.count(part) > 1},
        "without items": set(listed) - set(parts),
    }
    problems = [f"{', '.join(sorted(names))}: {what}" for what, names in wrong.items() if names]
    if problems:
        raise ValueError("; ".join(problems))
    weight = {
        part: 1 / (len(categories) * len(members))
        for members in categories.values()
        for part in members
    }
    return [weight[part] for part in parts]


def items_of(row: Mapping[str, Any]) -> Items:
    """Return the items of a task and metric as they are stored beside a table of scores."""
    if row["metric"] in OF_LABELS:
        return label_items(row["values"], row["choices"], row["metric"])
    return mean_items(row["values"], row["parts"], row["by_part"])
