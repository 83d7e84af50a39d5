"""What a metric is: its name in files of scores, its label for readers, and its range.

Metrics of generated text are computed by kinds of task
(:func:`revocab.evaluation.generation.kind.metrics` knows all); the others are here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from revocab.evaluation.resampling import Items


@dataclass(frozen=True)
class Metric:
    """One kind of score, between ``low`` and ``high``."""

    name: str
    #: What readers of tables see.
    label: str
    low: float
    high: float
    #: From a task's output rows (``output``, ``references``, counts) and its languages to scored
    #: items, or to None where none of the rows is asked for it; none: it is measured otherwise.
    items: Callable[[Sequence[dict[str, Any]], Sequence[str]], Items | None] | None = None


def mean_of(values: Sequence[float]) -> Items:
    """Return items whose score is their mean; numpy is imported when a score is computed."""
    from revocab.evaluation.resampling import mean_items

    return mean_items(values)


#: Of multiple-choice tasks, as lm-evaluation-harness names them; fractions.
HARNESS_METRICS = (
    Metric("acc", "acc", 0, 1),
    Metric("acc_norm", "acc_norm", 0, 1),
    Metric("pct_stereotype", "stereotypes", 0, 1),
)
#: Of gold and predicted labels (:mod:`revocab.evaluation.measures`).
LABEL_METRICS = (
    Metric("macro_f1", "macro-F1", 0, 1),
    Metric("mcc", "MCC", -1, 1),
    Metric("acc_f1", "mean of acc and macro-F1", 0, 1),
    Metric("acc_mcc", "mean of acc and MCC", -0.5, 1),
)
#: Of items that are right only together, and of categories of parts.
TOGETHER = Metric("acc_together", "right together", 0, 1)
CATEGORIES = Metric("acc_categories", "mean of categories", 0, 1)
CHOICE_METRICS = (*HARNESS_METRICS, *LABEL_METRICS, TOGETHER, CATEGORIES)
#: Computed in an environment of their own (:mod:`revocab.evaluation.generation.comet`), by the key
#: of an experiment that names their model. The first has a row in every table of scores, maybe
#: empty.
COMET_METRICS = {
    "comet_model": Metric("comet22", "COMET-22", -100, 200),
    "xcomet_model": Metric("xcomet", "xCOMET", -100, 200),
}
COMET = COMET_METRICS["comet_model"].name
#: Of one language's multiple-choice tasks, of text, and of embeddings. A loss has no upper bound: a
#: method whose rows have exploded starts training at hundreds of bits per byte.
OTHER_METRICS = (
    Metric("average", "AVG", 0, 1),
    Metric("loss", "loss", 0, math.inf),
    Metric("bits_per_byte", "bits per byte", 0, math.inf),
    Metric("similarity_helper", "similarity to the helper", -1, 1),
    Metric("similarity_between", "similarity between runs", -1, 1),
)
#: What stands for a metric that is none of ours.
UNKNOWN = Metric("", "", -math.inf, math.inf)
