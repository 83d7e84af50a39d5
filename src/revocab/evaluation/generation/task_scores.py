"""Scores of one generation task from its output rows, with standard errors and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from revocab.evaluation.generation.kind import Row, find_kind, metrics
from revocab.evaluation.metric import COMET, UNKNOWN
from revocab.evaluation.resampling import Items, first_sum, score_columns
from revocab.training.chat.layout import Languages

#: Why COMET's row has no value here: it is computed in an environment of its own (score_comet).
NO_COMET, COMET_APART = "comet not configured", "scored apart, see comet.csv"


def task_items(kind: str, languages: Languages, rows: Sequence[Row]) -> dict[str, Items]:
    computed = {
        metric.name: metric.items(rows, languages)
        for metric in find_kind(kind).metrics
        if metric.items is not None
    }
    return {name: items for name, items in computed.items() if items is not None}


def scored(metric: str, items: Items) -> dict[str, Any]:
    whole = metrics().get(metric, UNKNOWN).high
    row = {"metric": metric, **score_columns(items, whole), "reason": ""}
    values = items.counts_NK[:, 0]
    if row["stderr"] is not None and items.score is first_sum:
        row["stderr"] = float(values.std(ddof=1)) / math.sqrt(len(values)) or row["stderr"]
    return row


def task_scores(
    kind: str, languages: Languages, rows: Sequence[Row], comet_apart: bool = False
) -> list[dict[str, Any]]:
    """Return a row per metric: ``metric``, ``value``, ``stderr``, ``low``, ``high``, ``reason``."""
    scores = [scored(name, items) for name, items in task_items(kind, languages, rows).items()]
    if find_kind(kind).comet_source is not None:
        empty = dict.fromkeys(("value", "stderr", "low", "high"))
        reason = COMET_APART if comet_apart else NO_COMET
        scores.append({"metric": COMET, **empty, "reason": reason})
    return scores
