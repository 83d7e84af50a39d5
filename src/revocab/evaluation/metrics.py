"""Metrics of generated text, all from 0 to 100: chrF++, BLEU, ROUGE-L, exact match, token F1."""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

#: Articles by language; Italian ``l'`` and ``un'`` are elided before a vowel.
ARTICLES = {
    "it": re.compile(r"\b(?:l|un)\s*['’]|\b(?:il|lo|la|i|gli|le|un|uno|una)\b"),
    "en": re.compile(r"\b(?:a|an|the)\b"),
}
PUNCTUATION = str.maketrans({mark: " " for mark in string.punctuation + "«»“”‘’…–—"})


@dataclass(frozen=True)
class Score:
    """One metric over a task. ``stderr`` only where the metric is a mean over items."""

    metric: str
    value: float | None
    stderr: float | None = None
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


def mean_score(
    metric: str,
    score: Callable[[str, str], float],
    outputs: Sequence[str],
    references: Sequence[Sequence[str]],
) -> Score:
    """Return the mean over items of the best score against any reference, with standard error."""
    values = [
        100 * max(score(output, one) for one in wanted)
        for output, wanted in zip(outputs, references, strict=True)
    ]
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return Score(metric, mean)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return Score(metric, mean, math.sqrt(variance / len(values)))


def translation_scores(
    outputs: Sequence[str], references: Sequence[Sequence[str]], comet_model: str | None
) -> list[Score]:
    """Return corpus chrF++ and BLEU, and COMET-22 where it can be computed."""
    from sacrebleu.metrics import BLEU, CHRF

    columns = list(zip(*references, strict=True))
    return [
        Score("chrf++", CHRF(word_order=2).corpus_score(outputs, columns).score),
        Score("bleu", BLEU().corpus_score(outputs, columns).score),
        comet_score(comet_model),
    ]


def comet_score(comet_model: str | None) -> Score:
    """Return the COMET-22 column: empty, with the reason (its own environment comes later)."""
    if comet_model is None:
        return Score("comet22", None, reason="comet not configured")
    return Score(
        "comet22", None, reason=f"comet model {comet_model} configured, but no COMET environment"
    )


def answer_scores(
    outputs: Sequence[str], references: Sequence[Sequence[str]], language: str
) -> list[Score]:
    """Return ROUGE-L, exact match and F1 of answers in one language."""
    return [
        mean_score("rougeL", rouge_l(), outputs, references),
        mean_score("exact_match", partial(exact_match, language=language), outputs, references),
        mean_score("f1", partial(token_f1, language=language), outputs, references),
    ]


def task_scores(
    kind: str,
    direction: Sequence[str],
    outputs: Sequence[str],
    references: Sequence[Sequence[str]],
    comet_model: str | None = None,
) -> list[Score]:
    """Return the metrics of one task of either kind."""
    if kind == "translation":
        return translation_scores(outputs, references, comet_model)
    return answer_scores(outputs, references, direction[0])
