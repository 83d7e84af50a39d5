"""Scores of one generation task from its output rows, with standard errors and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from revocab.chat.layout import Languages
from revocab.evaluation.generation.kind import Row, find_kind
from revocab.evaluation.metric import COMET
from revocab.evaluation.resampling import Items, bootstrap, first_sum

#: Why COMET's row has no value here: it is computed in an environment of its own (score_comet).
NO_COMET, COMET_APART = "comet not configured", "scored apart, see comet.csv"


@dataclass(frozen=True)
class Score:
    """One metric over a task, with its standard error over items and 95 % bootstrap interval."""

    metric: str
    value: float | None
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


def task_items(kind: str, languages: Languages, rows: Sequence[Row]) -> dict[str, Items]:
    computed = {
        metric.name: metric.items(rows, languages)
        for metric in find_kind(kind).metrics
        if metric.items is not None
    }
    return {name: items for name, items in computed.items() if items is not None}


def scored(metric: str, items: Items) -> Score:
    interval = bootstrap(items)
    value = items.value()
    if interval is None:
        return Score(metric, value)
    return Score(metric, value, mean_stderr(items) or interval.stderr, interval.low, interval.high)


def mean_stderr(items: Items) -> float | None:
    """Return the standard error of a mean by its formula; None for any other score."""
    if items.score is not first_sum:
        return None
    values = items.counts_NK[:, 0]
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def task_scores(
    kind: str, languages: Languages, rows: Sequence[Row], comet_apart: bool = False
) -> list[Score]:
    scores = [scored(name, items) for name, items in task_items(kind, languages, rows).items()]
    if find_kind(kind).comet_source is not None:
        scores.append(Score(COMET, None, reason=COMET_APART if comet_apart else NO_COMET))
    return scores
