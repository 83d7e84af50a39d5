"""Metrics of generated text that kinds of tasks share: chrF++, BLEU, ROUGE-L, exact match, F1.

Kinds are made of them, so that nothing here imports numpy or a library of metrics before a score is
computed.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from revocab.evaluation.metric import Metric, mean_of
from revocab.languages import languages

if TYPE_CHECKING:
    from revocab.evaluation.resampling import Items

Row = dict[str, Any]
#: Deleted as SQuAD's own script does, so that "U.S.A." is one word; its marks are ASCII's only.
PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation + "«»“”‘’…–—"))


class WordTokenizer:
    """Words for ROUGE: runs of letters and digits of any script, lower case, accents kept.

    rouge_score's own drops everything but a-z and 0-9, so that "città" becomes "citt".
    """

    def tokenize(self, text: str) -> list[str]:
        return re.findall(r"\w+", unicodedata.normalize("NFC", text).lower())


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
    """Return an answer's words as SQuAD compares them: lower case, no punctuation, no articles.

    In SQuAD's order, punctuation first, but for elided articles, which are known by theirs.
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


def best_scores(score: Callable[[str, str], float], rows: Sequence[Row]) -> Items:
    best = [max(score(row["output"], right) for right in row["references"]) for row in rows]
    return mean_of([100 * value for value in best])


def corpus_score(name: str, rows: Sequence[Row], languages: Sequence[str]) -> Items:
    """Return items of one of sacrebleu's metrics of a whole corpus: chrF++ or BLEU."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    from revocab.evaluation.resampling import corpus_items

    metric = CHRF(word_order=2) if name == "chrf++" else BLEU()
    outputs = [row["output"] for row in rows]
    return corpus_items(metric, outputs, [row["references"] for row in rows])


def rouge_items(rows: Sequence[Row], languages: Sequence[str]) -> Items:
    from rouge_score.rouge_scorer import RougeScorer

    score = RougeScorer(["rougeL"], tokenizer=WordTokenizer()).score
    return best_scores(lambda output, right: score(right, output)["rougeL"].fmeasure, rows)


def released_rouge_items(rows: Sequence[Row], languages: Sequence[str]) -> Items:
    """Return the items of ROUGE-L as SAVA's authors computed it.

    Against the first answer, and with rouge_score's own words: runs of a-z and 0-9.
    """
    from rouge_score.rouge_scorer import RougeScorer

    score = RougeScorer(["rougeL"]).score
    pairs = [(row["references"][0], row["output"]) for row in rows]
    return mean_of([100 * score(*pair)["rougeL"].fmeasure for pair in pairs])


def answer_items(
    score: Callable[..., float], rows: Sequence[Row], languages: Sequence[str]
) -> Items:
    return best_scores(partial(score, language=languages[-1]), rows)


def mean_answer_items(rows: Sequence[Row], languages: Sequence[str]) -> Items:
    """Return items whose score is the mean of F1 and exact match, each against its best reference.

    As in LEP's Darumeru (MultiQ).
    """
    parts = [answer_items(score, rows, languages).counts_NK for score in (token_f1, exact_match)]
    return mean_of(((parts[0] + parts[1]) / 2)[:, 0])


CHRF = Metric("chrf++", "chrF++", 0, 100, partial(corpus_score, "chrf++"))
BLEU = Metric("bleu", "BLEU", 0, 100, partial(corpus_score, "bleu"))
ROUGE_L = Metric("rougeL", "ROUGE-L", 0, 100, rouge_items)
RELEASED_ROUGE_L = Metric("rougeL-released", "ROUGE-L as released", 0, 100, released_rouge_items)
EXACT_MATCH = Metric("exact_match", "EM", 0, 100, partial(answer_items, exact_match))
F1 = Metric("f1", "F1", 0, 100, partial(answer_items, token_f1))
F1_EXACT_MATCH = Metric("f1_exact_match", "Mean of F1 and EM", 0, 100, mean_answer_items)
