"""Metrics of generated text, from 0 to 100: chrF++, BLEU, ROUGE-L, exact match, F1, copying."""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from revocab.evaluation.copying import COPIED
from revocab.evaluation.resampling import Items, bootstrap, corpus_items, first_sum, mean_items

if TYPE_CHECKING:
    import numpy as np

Row = dict[str, Any]
#: COMET-22 and its like are computed in an environment of their own (scripts/score_comet.py).
COMET = "comet22"
#: Why its row has no value here.
NO_COMET, COMET_APART = "comet not configured", "scored apart, see comet.csv"

#: Articles by language; Italian ``l'`` and ``un'`` are elided before a vowel.
ARTICLES = {
    "it": re.compile(r"\b(?:l|un)\s*['’]|\b(?:il|lo|la|i|gli|le|un|uno|una)\b"),
    "en": re.compile(r"\b(?:a|an|the)\b"),
}
PUNCTUATION = str.maketrans({mark: " " for mark in string.punctuation + "«»“”‘’…–—"})


@dataclass(frozen=True)
class Score:
    """One metric over a task, with its standard error over items and 95 % bootstrap interval."""

    metric: str
    value: float | None
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


class WordTokenizer:
    """Words for ROUGE: runs of letters and digits of any script, lower case, accents kept.

    rouge_score's own drops everything but a-z and 0-9, so that "città" becomes "citt".
    """

    def tokenize(self, text: str) -> list[str]:
        """Return the words of ``text``."""
        return re.findall(r"\w+", unicodedata.normalize("NFC", text).lower())


def normalise_answer(text: str, language: str) -> list[str]:
    """Return an answer's words as SQuAD compares them: lower case, no punctuation, no articles."""
    text = unicodedata.normalize("NFC", text).lower()
    return ARTICLES[language].sub(" ", text).translate(PUNCTUATION).split()


def exact_match(output: str, reference: str, language: str = "it") -> float:
    """Return 1 if both are the same words after normalisation, else 0."""
    return float(normalise_answer(output, language) == normalise_answer(reference, language))


def token_f1(output: str, reference: str, language: str = "it") -> float:
    """Return the F1 of shared words; two answers of no words are equal."""
    said, wanted = normalise_answer(output, language), normalise_answer(reference, language)
    if not said or not wanted:
        return float(said == wanted)
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted))


def rouge_l() -> Callable[[str, str], float]:
    """Return the function (output, reference) to ROUGE-L F-measure."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], tokenizer=WordTokenizer())
    return lambda output, reference: scorer.score(reference, output)["rougeL"].fmeasure


def best_scores(
    score: Callable[[str, str], float],
    outputs: Sequence[str],
    references: Sequence[Sequence[str]],
) -> Items:
    """Return items whose score is the mean of the best score against any reference, times 100."""
    return mean_items(
        [
            100 * max(score(output, one) for one in wanted)
            for output, wanted in zip(outputs, references, strict=True)
        ]
    )


def copy_ratio(rows: Sequence[Row]) -> Items:
    """Return items whose score is 100 × tokens of all originals / tokens generated for them.

    Above 100: fewer tokens were written than the originals have, so text is missing.
    """
    import numpy as np

    counts = [[row["reference_tokens"], row["output_tokens"]] for row in rows]
    count = len(counts)

    def ratio(sums_RK: np.ndarray) -> np.ndarray:
        return 100 * sums_RK[:, 0] / np.maximum(sums_RK[:, 1], 1)

    return Items(np.array(counts, dtype=np.float64), np.ones(count), np.zeros(count, int), ratio)


def copied(rows: Sequence[Row]) -> Items:
    """Return items whose score is the percentage of texts reproduced."""
    return mean_items(
        [100.0 * (row["copied_tokens"] > COPIED * row["reference_tokens"]) for row in rows]
    )


def task_items(kind: str, direction: Sequence[str], rows: Sequence[Row]) -> dict[str, Items]:
    """Return the scored items of every metric of a task, from its output rows."""
    if kind == "copying":
        return {"copy_ratio": copy_ratio(rows), "copied": copied(rows)}
    outputs, references = [row["output"] for row in rows], [row["references"] for row in rows]
    if kind == "translation":
        from sacrebleu.metrics import BLEU, CHRF

        return {
            "chrf++": corpus_items(CHRF(word_order=2), outputs, references),
            "bleu": corpus_items(BLEU(), outputs, references),
        }
    language = direction[0]
    return {
        "rougeL": best_scores(rouge_l(), outputs, references),
        "exact_match": best_scores(partial(exact_match, language=language), outputs, references),
        "f1": best_scores(partial(token_f1, language=language), outputs, references),
    }


def scored(metric: str, items: Items) -> Score:
    """Return a metric's value with its interval and standard error."""
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
    kind: str, direction: Sequence[str], rows: Sequence[Row], comet_apart: bool = False
) -> list[Score]:
    """Return the metrics of one task from its output rows (``output``, ``references``; counts)."""
    scores = [scored(name, items) for name, items in task_items(kind, direction, rows).items()]
    if kind == "translation":
        scores.append(Score(COMET, None, reason=COMET_APART if comet_apart else NO_COMET))
    return scores
