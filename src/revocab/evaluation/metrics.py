"""Metrics: name in files of scores, label for readers, range, and, of generated text, how computed.

Kinds of generation tasks are made of these and of metrics of their own
(:func:`revocab.evaluation.generation.kind.metrics` knows all), and an experiment file is read with
them, so that numpy and libraries of metrics are imported when a score is computed.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import Field

from revocab.closed import Closed, OneLine, checked
from revocab.languages import languages
from revocab.limits import COUNTED

if TYPE_CHECKING:
    from revocab.evaluation.resampling import Items

Row = dict[str, Any]


@dataclass(frozen=True)
class Metric:
    """One kind of score, between ``low`` and ``high``; ``label`` is what readers of tables see."""

    name: str
    label: str
    low: float
    high: float
    #: From a task's output rows (``output``, ``references``, counts) and its languages to scored
    #: items, or to None where it applies to none of the rows; none: it is measured otherwise.
    items: Callable[[Sequence[Row], Sequence[str]], Items | None] | None = None


#: Of multiple-choice tasks, as lm-evaluation-harness names them; fractions.
HARNESS_METRICS = (
    Metric("acc", "acc", 0, 1),
    Metric("acc_norm", "acc_norm", 0, 1),
    Metric("pct_stereotype", "stereotypes", 0, 1),
)
#: Of gold and predicted labels (:data:`revocab.evaluation.resampling.OF_LABELS`).
LABEL_METRICS = (
    Metric("macro_f1", "macro-F1", 0, 1),
    Metric("mcc", "MCC", -1, 1),
    Metric("acc_f1", "mean of acc and macro-F1", 0, 1),
    Metric("acc_mcc", "mean of acc and MCC", -0.5, 1),
)
#: Of items that are right only together, and of categories of parts.
TOGETHER = Metric("acc_together", "right together", 0, 1)
CATEGORIES = Metric("acc_categories", "mean of categories", 0, 1)
#: Computed in an environment of their own (:mod:`revocab.evaluation.generation.comet`), by the key
#: of an experiment that names their model. The first has a row in every table of scores, maybe
#: empty.
COMET_METRICS = {
    "comet_model": Metric("comet22", "COMET-22", -100, 200),
    "xcomet_model": Metric("xcomet", "xCOMET", -100, 200),
}
COMET = COMET_METRICS["comet_model"].name
#: Why COMET's row has no value where a task's other scores are.
NO_COMET, COMET_APART = "comet not configured", "scored apart, see comet.csv"
#: Of one language's multiple-choice tasks, of text, and of embeddings. A loss has no upper bound: a
#: method whose rows have exploded starts training at hundreds of bits per byte.
OTHER_METRICS = (
    Metric("average", "AVG", 0, 1),
    Metric("loss", "loss", 0, math.inf),
    Metric("bits_per_byte", "bits per byte", 0, math.inf),
    Metric("similarity_helper", "similarity to the helper", -1, 1),
    Metric("similarity_between", "similarity between runs", -1, 1),
)
#: Those that no kind of generation task computes.
MEASURED_OTHERWISE = (
    *HARNESS_METRICS, *LABEL_METRICS, TOGETHER, CATEGORIES, *COMET_METRICS.values(), *OTHER_METRICS,
)  # fmt: skip
#: What stands for a metric that is none of ours.
UNKNOWN = Metric("", "", -math.inf, math.inf)


# Families of multiple-choice tasks ----------------------------------------------------------------

FAMILIES = Path(__file__).parent / "multiple_choice/families.yaml"
#: The metric of a family that names none, or is not in the file.
DEFAULT_METRIC = "acc"


class Family(Closed):
    """One line of ``families.yaml``, which says what the keys mean."""

    label: OneLine
    metric: OneLine | None = None
    choices: Annotated[int, Field(ge=2), COUNTED] | None = None


@cache
def families() -> dict[str, Family]:
    """Return every family by id, in the order of a table's columns.

    Raises :class:`RevocabError` naming the line of ``families.yaml`` that is wrong.
    """
    values = yaml.safe_load(FAMILIES.read_text(encoding="utf-8"))
    return {name: checked(Family, line, f"{FAMILIES}: {name}") for name, line in values.items()}


def family_label(family: str) -> str:
    """Return a family as a column header: its own id where the file does not name it."""
    known = families().get(family)
    return known.label if known else family


def family_chance(family: str) -> float | None:
    """Return the accuracy of blind guessing, None where items differ too much to say."""
    known = families().get(family)
    return 1 / known.choices if known and known.choices else None


def choice_metrics(family: str) -> tuple[str, ...]:
    """Return the metrics that may stand for a family, the best first.

    Some tasks report no accuracy, such as the rate of stereotypes. The first of these metrics that
    a task does report stands for it, so that no average lacks it.
    """
    known = families().get(family)
    first = known.metric if known and known.metric else DEFAULT_METRIC
    return tuple(dict.fromkeys([first, DEFAULT_METRIC, *(each.name for each in HARNESS_METRICS)]))


# Metrics of output rows ---------------------------------------------------------------------------


def mean_of(values: Sequence[float]) -> Items:
    """Return items whose score is the mean of their values."""
    from revocab.evaluation.resampling import mean_items

    return mean_items(values)


def mean_metric(
    name: str, label: str, value: Callable[[Row], float | None], high: float = 100
) -> Metric:
    """Return a metric that is the mean of a value of each output row, of those that have one."""

    def items(rows: Sequence[Row], languages: Sequence[str]) -> Items | None:
        values = [of_row for row in rows if (of_row := value(row)) is not None]
        return mean_of(values) if values else None

    return Metric(name, label, 0, high, items)


def best_scores(score: Callable[[str, str], float], rows: Sequence[Row]) -> Items:
    """Return items of an output's score, from 0 to 1, against its best reference, in per cent."""
    best = [max(score(row["output"], right) for right in row["references"]) for row in rows]
    return mean_of([100 * value for value in best])


def corpus_score(name: str, rows: Sequence[Row], languages: Sequence[str]) -> Items:
    """Return items of one of sacrebleu's metrics of a whole corpus, chrF++ or BLEU: its counts."""
    import numpy as np
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    from revocab.evaluation.resampling import Items

    metric = CHRF(word_order=2) if name == "chrf++" else BLEU()

    def score(sums_RK: np.ndarray) -> np.ndarray:
        whole = np.rint(sums_RK).astype(int).tolist()  # sacrebleu counts in integers
        return np.array([metric._compute_score_from_stats(sums).score for sums in whole])

    columns = list(zip(*(row["references"] for row in rows), strict=True))
    outputs = [row["output"] for row in rows]
    return Items.of(metric._extract_corpus_statistics(outputs, columns), score)


# ROUGE --------------------------------------------------------------------------------------------


class WordTokenizer:
    """Words for ROUGE: runs of letters and digits of any script, lower case, with accents, of which
    rouge_score's own make "citt" of "città".
    """

    def tokenize(self, text: str) -> list[str]:
        return re.findall(r"\w+", unicodedata.normalize("NFC", text).lower())


def rouge_items(
    sizes: Sequence[str], part: str, rows: Sequence[Row], languages: Sequence[str]
) -> Items:
    """Return items of the mean of ROUGE's ``sizes``, of each its ``recall`` or ``fmeasure``."""
    from rouge_score.rouge_scorer import RougeScorer

    scores = RougeScorer(sizes, tokenizer=WordTokenizer()).score
    return best_scores(
        lambda output, right: mean(getattr(of, part) for of in scores(right, output).values()), rows
    )


def released_rouge_items(rows: Sequence[Row], languages: Sequence[str]) -> Items:
    """Return items of ROUGE-L as SAVA's authors had it: the first answer, words of a-z and 0-9."""
    from rouge_score.rouge_scorer import RougeScorer

    score = RougeScorer(["rougeL"]).score
    pairs = [(row["references"][0], row["output"]) for row in rows]
    return mean_of([100 * score(*pair)["rougeL"].fmeasure for pair in pairs])


# Short answers, as SQuAD compares them ------------------------------------------------------------

#: Deleted as SQuAD's own script does, so that "U.S.A." is one word; its marks are ASCII's only.
PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation + "«»“”‘’…–—"))


@cache
def articles(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what matches a language's elided articles with their apostrophe, and its others.

    Either matches nothing where the language's file has none.
    """
    file = languages().get(language)
    elided, plain = (file.elided_articles, file.articles) if file else ((), ())
    return (
        re.compile(rf"\b(?:{'|'.join(elided)})\s*['’]" if elided else r"(?!)"),
        re.compile(rf"\b(?:{'|'.join(plain)})\b" if plain else r"(?!)"),
    )


def normalise_answer(text: str, language: str) -> list[str]:
    """Return an answer's words as SQuAD compares them: lower case, no punctuation, no articles; in
    its order, punctuation first, but for elided articles, which are known by theirs.
    """
    elided, plain = articles(language)
    text = elided.sub(" ", unicodedata.normalize("NFC", text).lower())
    return plain.sub(" ", text.translate(PUNCTUATION)).split()


def exact_match(output: str, reference: str, language: str) -> float:
    """Return 1 if both are the same words after normalisation, else 0."""
    return float(normalise_answer(output, language) == normalise_answer(reference, language))


def token_f1(output: str, reference: str, language: str) -> float:
    """Return the F1 of shared words; two answers of no words are equal."""
    answered, wanted = normalise_answer(output, language), normalise_answer(reference, language)
    if not answered or not wanted:
        return float(answered == wanted)
    shared = sum((Counter(answered) & Counter(wanted)).values())
    return 2 * shared / (len(answered) + len(wanted))


def answer_items(
    scores: Sequence[Callable[..., float]], rows: Sequence[Row], languages: Sequence[str]
) -> Items:
    """Return items of the mean of several scores of an answer, each against its best reference."""
    parts = [best_scores(partial(of, language=languages[-1]), rows).counts_NK for of in scores]
    return mean_of((sum(parts[1:], parts[0]) / len(parts))[:, 0].tolist())


CHRF = Metric("chrf++", "chrF++", 0, 100, partial(corpus_score, "chrf++"))
BLEU = Metric("bleu", "BLEU", 0, 100, partial(corpus_score, "bleu"))
ROUGE_L = Metric("rougeL", "ROUGE-L", 0, 100, partial(rouge_items, ["rougeL"], "fmeasure"))
RELEASED_ROUGE_L = Metric("rougeL-released", "ROUGE-L as released", 0, 100, released_rouge_items)
EXACT_MATCH = Metric("exact_match", "EM", 0, 100, partial(answer_items, [exact_match]))
F1 = Metric("f1", "F1", 0, 100, partial(answer_items, [token_f1]))
#: As in LEP's Darumeru (MultiQ).
F1_EXACT_MATCH = Metric(
    "f1_exact_match", "Mean of F1 and EM", 0, 100, partial(answer_items, [token_f1, exact_match])
)
