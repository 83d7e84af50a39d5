"""How sure a score is, and whether two differ: bootstrap and permutation over the same items.

A score is a function of a weighted sum over items: the mean of item scores, or a corpus metric of
summed counts (chrF++, BLEU, macro-F1). Both tests resample items, so all go the same way. Items of
a task with parts (the subjects of MMLU) are resampled within their part, and items that belong
together as one. Shares of right answers have score intervals instead (:func:`wilson`).

Paired bootstrap: Koehn, "Statistical Significance Tests for Machine Translation Evaluation", EMNLP
2004. Permutation (approximate randomisation): Noreen, "Computer-Intensive Methods for Testing
Hypotheses", 1989; the add-one p-value is Phipson and Smyth, 2010.

Draws are made here and not by ``scipy.stats``, whose bootstrap and permutation test know neither
parts nor scores of summed counts, draw anew for each system, and hold every resampled item.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from revocab.evaluation.over_seeds import FEW, LEVEL, NORMAL_95, most_exchanges

#: What every score table begins with: a score's keys, value, error, interval and size.
SCORE_COLUMNS = (
    "run", "step", "task", "metric", "value", "stderr", "low", "high", "items", "shots",
)  # fmt: skip
#: Resamples are drawn this many at a time, which bounds memory at MMLU's 14,000 items to 11 MB.
CHUNK = 100
#: Draws of up to this many numbers stay in memory, 16 MB each.
REMEMBERED = 2_000_000
RESAMPLES = 1000
SEED = 17

#: From sums over items [R, K] to scores [R].
Score = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Items:
    """The scored items of one system on one task; equal to themselves alone.

    ``counts_NK``: what each item adds to the sums, float64. ``weights_N`` scale the items.
    ``parts_N``: which part an item belongs to.
    """

    counts_NK: np.ndarray
    weights_N: np.ndarray
    parts_N: np.ndarray
    score: Score

    @classmethod
    def of(cls, counts_NK: Any, score: Score) -> Items:
        """Return items of one part that count alike."""
        number = len(counts_NK)
        counts_NK = np.asarray(counts_NK, dtype=np.float64)
        return cls(counts_NK, np.ones(number), np.zeros(number, dtype=int), score)

    def value(self) -> float:
        return float(self.score((self.weights_N @ self.counts_NK)[None])[0])


# Items of metrics ---------------------------------------------------------------------------------


def first_sum(sums_RK: np.ndarray) -> np.ndarray:
    """Return the only sum: the score of items whose counts are weighted item scores."""
    return sums_RK[:, 0]


def mean_items(
    values: Sequence[float],
    parts: Sequence[int] | None = None,
    by_part: bool | Sequence[float] = False,
) -> Items:
    """Return items whose score is their mean; ``parts`` are the sizes of consecutive parts.

    With ``by_part`` it is the mean of the parts' means: unweighted, or by these weights, whose sum
    is 1. Raises ``ValueError`` if the sizes do not add up.
    """
    values_N = np.asarray(values, dtype=np.float64)
    sizes = np.asarray(parts if parts else [len(values_N)])
    if sizes.sum() != len(values_N) or not len(values_N):
        raise ValueError(f"parts {sizes.tolist()} do not add up to {len(values_N)} items")
    parts_N = np.repeat(np.arange(len(sizes)), sizes)
    weights_N = np.full(len(values_N), 1 / len(values_N))
    if by_part is True:
        weights_N = 1 / (len(sizes) * sizes[parts_N])
    elif by_part:
        weights_N = (np.asarray(by_part) / sizes)[parts_N]
    return Items(values_N[:, None], weights_N, parts_N, first_sum)


def accuracy(counts_RLL: np.ndarray) -> np.ndarray:
    """Return the share of items [R] whose prediction is their gold label; ``counts_RLL`` count
    items by gold label (rows) and predicted label (columns).
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


#: What each of :data:`revocab.evaluation.metrics.LABEL_METRICS` is the mean of.
OF_LABELS: dict[str, tuple[Score, ...]] = {
    "macro_f1": (macro_f1,),
    "mcc": (mcc,),
    "acc_f1": (accuracy, macro_f1),
    "acc_mcc": (accuracy, mcc),
}


def label_items(pairs: Iterable[Sequence[int]], labels: int, metric: str) -> Items:
    """Return items of a metric of :data:`OF_LABELS`; ``pairs``: gold and predicted label of each,
    from 0 to ``labels`` - 1.
    """
    pairs_N2 = np.array(list(pairs), dtype=int)
    counts_NK = np.zeros((len(pairs_N2), labels**2))
    counts_NK[np.arange(len(pairs_N2)), pairs_N2 @ [labels, 1]] = 1

    def score(sums_RK: np.ndarray) -> np.ndarray:
        counts_RLL = sums_RK.reshape(-1, labels, labels)
        return np.mean([part(counts_RLL) for part in OF_LABELS[metric]], axis=0)

    return Items.of(counts_NK, score)


def together(values: Iterable[float], groups: Iterable[Hashable]) -> list[float]:
    """Return the product of the values of each group: 1 where all of its items are right."""
    products: dict[Hashable, float] = {}
    for value, group in zip(values, groups, strict=True):
        products[group] = products.get(group, 1) * value
    return list(products.values())


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
    sizes = {part: len(members) for members in categories.values() for part in members}
    return [1 / (len(categories) * sizes[part]) for part in parts]


def items_of(row: Mapping[str, Any]) -> Items:
    """Return the items of a task and metric as they are stored beside a table of scores."""
    if row["metric"] in OF_LABELS:
        return label_items(row["values"], row["choices"], row["metric"])
    return mean_items(row["values"], row["parts"], row["by_part"])


# Means of scores ----------------------------------------------------------------------------------


def mean_of_tasks(tasks: Sequence[Items]) -> Items:
    """Return the items whose score is the unweighted mean of several scores."""
    weights_N = np.concatenate([task.weights_N for task in tasks])
    firsts = np.cumsum([0, *(int(task.parts_N.max()) + 1 for task in tasks[:-1])])
    parts_N = np.concatenate([task.parts_N + at for task, at in zip(tasks, firsts, strict=True)])
    if all(task.score is first_sum for task in tasks):  # means: one sum serves all
        counts_NK = np.concatenate([task.counts_NK for task in tasks])
        return Items(counts_NK, weights_N / len(tasks), parts_N, first_sum)
    from scipy.linalg import block_diag

    counts_NK = block_diag(*(task.counts_NK for task in tasks))
    return Items(counts_NK, weights_N, parts_N, mean_score(tasks))


@functools.lru_cache(maxsize=64)  # a system is compared with each of the others
def mean_of_seeds(items: tuple[Items, ...]) -> Items:
    """Return the items whose score is the mean of the scores of several seeds' on the same items.
    Raises ``ValueError`` if the items are not the same in number.
    """
    first = items[0]
    if len(items) == 1:
        return first
    shapes = {seed_items.counts_NK.shape for seed_items in items}
    if len(shapes) > 1:
        raise ValueError(f"items of several seeds have the shapes {sorted(shapes)}")
    if all(seed_items.score is first_sum for seed_items in items):  # means: one sum serves all
        counts_NK = np.mean([seed_items.counts_NK for seed_items in items], axis=0)
        return Items(counts_NK, first.weights_N, first.parts_N, first_sum)
    counts_NK = np.concatenate([seed_items.counts_NK for seed_items in items], axis=1)
    return Items(counts_NK, first.weights_N, first.parts_N, mean_score(items))


def mean_score(systems: Sequence[Items]) -> Score:
    """Return the mean of several scores, whose sums stand side by side, as a score."""
    ends = np.cumsum([system.counts_NK.shape[1] for system in systems])[:-1]

    def score(sums_RK: np.ndarray) -> np.ndarray:
        own = np.split(sums_RK, ends, axis=1)
        return np.mean([of.score(part) for of, part in zip(systems, own, strict=True)], axis=0)

    return score


# Draws and intervals ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """A 95 % interval, and the standard error of the score."""

    low: float
    high: float
    stderr: float


@functools.lru_cache(maxsize=8)  # every checkpoint and metric of a task has the same draws
def remembered_draws(parts: bytes, dtype: str, resamples: int, seed: int) -> list[np.ndarray]:
    return list(new_draws(np.frombuffer(parts, dtype=dtype), resamples, seed))


def draws(parts_N: np.ndarray, resamples: int, seed: int) -> Iterable[np.ndarray]:
    """Return chunks [R, N] of how often each item is drawn, as many per part as it has items."""
    if resamples * len(parts_N) > REMEMBERED:
        return new_draws(parts_N, resamples, seed)
    return remembered_draws(parts_N.tobytes(), str(parts_N.dtype), resamples, seed)


def new_draws(parts_N: np.ndarray, resamples: int, seed: int) -> Iterator[np.ndarray]:
    generator = np.random.default_rng(seed)
    members = [np.flatnonzero(parts_N == part) for part in np.unique(parts_N)]
    for start in range(0, resamples, CHUNK):
        rows = min(CHUNK, resamples - start)
        times_RN = np.empty((rows, len(parts_N)))
        for chosen in members:
            even = np.full(len(chosen), 1 / len(chosen))
            times_RN[:, chosen] = generator.multinomial(len(chosen), even, size=rows)
        yield times_RN


@functools.lru_cache(maxsize=256)
def bootstrap_scores(
    items: Items, resamples: int = RESAMPLES, seed: int = SEED
) -> np.ndarray | None:
    """Return the scores [R] of resampled items; None for fewer than two items. Equal items, parts
    and seed give equal draws: scores of two systems are paired.
    """
    if len(items.weights_N) < 2:
        return None
    weighted = (times_RN * items.weights_N for times_RN in draws(items.parts_N, resamples, seed))
    return np.concatenate([items.score(weights_RN @ items.counts_NK) for weights_RN in weighted])


def bootstrap(items: Items, resamples: int = RESAMPLES, seed: int = SEED) -> Interval | None:
    """Return the 95 % percentile bootstrap interval of a score; None for fewer than two items."""
    scores_R = bootstrap_scores(items, resamples, seed)
    if scores_R is None:
        return None
    low, high = np.quantile(scores_R, [0.025, 0.975])
    return Interval(float(low), float(high), float(scores_R.std(ddof=1)))


def score_columns(items: Items, whole: float = 1.0) -> dict[str, float | None]:
    """Return a score and its 95 % interval, Wilson's of a share, else the percentile bootstrap's;
    None for what fewer than two items lack.

    A bootstrap of few items says too little of a share near 0 or 1: nothing, where all items are
    equal. ``whole``: the value of an item that is right, the other being 0.
    """
    interval = wilson(items, whole) or bootstrap(items)
    bounds = asdict(interval) if interval else dict.fromkeys(("low", "high", "stderr"))
    return {"value": items.value(), **bounds}


def wilson(items: Items, whole: float = 1.0) -> Interval | None:
    """Return the 95 % score interval of a share, or of a weighted mean of the shares of parts; None
    unless every one of at least two items is 0 or ``whole`` and counts as others of its part do.

    Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927. Those of
    parts are added by squares: Zou and Donner, 2008.
    """
    values_N = items.counts_NK[:, 0] / whole
    shares = math.isfinite(whole) and items.score is first_sum and len(values_N) > 1
    if not shares or not np.isin(values_N, (0.0, 1.0)).all():
        return None
    # Items that count alike are those of one share, whatever parts they have.
    parts_N = items.parts_N if np.ptp(items.weights_N) > 1e-12 else np.zeros(len(values_N), int)
    _, parts_N, counts_P = np.unique(parts_N, return_inverse=True, return_counts=True)
    weights_P = np.bincount(parts_N, items.weights_N)
    if not np.allclose((weights_P / counts_P)[parts_N], items.weights_N, rtol=1e-9, atol=0):
        return None
    shares_P = np.bincount(parts_N, values_N) / counts_P
    spreads_P = NORMAL_95**2 / counts_P
    variances_P = shares_P * (1 - shares_P) / counts_P
    centres_P = (shares_P + spreads_P / 2) / (1 + spreads_P)
    halves_P = NORMAL_95 / (1 + spreads_P) * np.sqrt(variances_P + spreads_P / counts_P / 4)
    value = float(weights_P @ shares_P)
    below, above, error = (
        math.sqrt(((weights_P * reaches_P) ** 2).sum())
        for reaches_P in (
            shares_P - np.maximum(0.0, centres_P - halves_P),
            np.minimum(1.0, centres_P + halves_P) - shares_P,
            np.sqrt(variances_P),
        )
    )
    return Interval(whole * (value - below), whole * (value + above), whole * error)


@dataclass(frozen=True)
class PairedComparison:
    """First minus second: the difference, its 95 % interval, and the two-sided p-value."""

    difference: float
    low: float
    high: float
    p_value: float


def compare(
    first: Items,
    second: Items,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    comparisons: int = 1,
    level: float = LEVEL,
) -> PairedComparison | None:
    """Return how two systems differ on the same items, in the same order.

    The interval is the paired bootstrap's, the p-value the permutation test's: the share of
    exchanges, item by item, that differ at least as much. Never 0: at least 1 / (exchanges + 1).
    ``comparisons``: how many the p-value will be adjusted for. ``level``: of the interval. None for
    fewer than two items. Raises ``ValueError`` if the items are not the same in number.
    """
    if first.counts_NK.shape != second.counts_NK.shape:
        raise ValueError(f"{first.counts_NK.shape} items against {second.counts_NK.shape}")
    if len(first.weights_N) < 2:
        return None
    ours, theirs = (bootstrap_scores(of, resamples, seed) for of in (first, second))
    assert ours is not None and theirs is not None  # two items and more
    low, high = np.quantile(ours - theirs, [(1 - level) / 2, (1 + level) / 2])
    observed = first.value() - second.value()
    p_value = permutation(first, second, observed, resamples, seed, comparisons)
    return PairedComparison(observed, float(low), float(high), p_value)


def permutation(
    first: Items, second: Items, observed: float, resamples: int, seed: int, comparisons: int = 1
) -> float:
    """Return the two-sided p-value of exchanging the systems' items at random.

    Where fewer than ``FEW`` of the ``resamples`` differ as much, there are more, up to
    :func:`most_exchanges`. The p-value stays valid: below ``(FEW + 1) / (resamples + 1)`` only that
    of the larger number counts, above it that of the first, which is valid on its own.
    """
    generator = np.random.default_rng([seed, 1])
    ours_NK = first.weights_N[:, None] * first.counts_NK
    theirs_NK = second.weights_N[:, None] * second.counts_NK
    total_K, count = ours_NK.sum(0) + theirs_NK.sum(0), len(ours_NK)
    most, exchanges, as_large = resamples, 0, 0
    while exchanges < most:
        rows = min(CHUNK, most - exchanges)
        ours_RN = generator.integers(0, 2, size=(rows, count)).astype(np.float64)
        sums_RK = ours_RN @ ours_NK + (1 - ours_RN) @ theirs_NK
        differences_R = first.score(sums_RK) - first.score(total_K - sums_RK)
        # A tie differs only by rounding and counts.
        as_large += int((np.abs(differences_R) >= abs(observed) - 1e-12).sum())
        exchanges += rows
        if exchanges == resamples and as_large < FEW:
            most = most_exchanges(resamples, comparisons)
    return (as_large + 1) / (exchanges + 1)
