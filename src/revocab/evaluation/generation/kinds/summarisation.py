"""Summaries, and what they have in common with the reference: ROUGE-1 and ROUGE-2.

    Напиши краткую аннотацию.
    Текст: …
    TL;DR: …

As in LEP's Darumeru (Gazeta, abstractive). The paper names the recall, and the code that its
authors released computes the F-measure of lemmas; here words are not lemmatised.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import mean
from typing import TYPE_CHECKING, Literal

from revocab.evaluation.generation.kind import GenerationKind, OneLanguage, Row
from revocab.evaluation.generation.metrics import WordTokenizer, best_scores
from revocab.evaluation.metric import Metric
from revocab.training.chat.layout import Languages, Layout

if TYPE_CHECKING:
    from revocab.evaluation.resampling import Items

SIZES = ("rouge1", "rouge2")


class Summarisation(OneLanguage):
    """Summaries; rows have ``text`` and ``summary``, each a text or a list of sentences."""

    kind: Literal["summarisation"]


def joined(rows: list[Row], options: Summarisation, where: str) -> list[Row]:
    return [
        {name: " ".join(value) if name in FIELDS and isinstance(value, list) else value
         for name, value in row.items()}
        for row in rows
    ]  # fmt: skip


FIELDS = ("text", "summary")


def rouge(part: Literal["recall", "fmeasure"], rows: Sequence[Row], languages: Languages) -> Items:
    """Return items whose score is the mean of ROUGE-1 and ROUGE-2, in per cent. Mean over texts."""
    from rouge_score.rouge_scorer import RougeScorer

    score = RougeScorer(SIZES, tokenizer=WordTokenizer()).score

    def of_output(output: str, right: str) -> float:
        return mean(getattr(rouge, part) for rouge in score(right, output).values())

    return best_scores(of_output, rows)


KIND = GenerationKind(
    options=Summarisation,
    layout=Layout(labels=("<<text>>", "TL;DR"), repeated=True),
    rows=joined,
    fields=lambda languages: FIELDS,
    scored=("summary",),
    texts=lambda row, languages: [row[name] for name in FIELDS],
    references=lambda row, languages: [row["summary"]],
    metrics=(
        Metric("rouge_recall", "ROUGE-1/2 recall", 0, 100, partial(rouge, "recall")),
        Metric("rouge_f", "ROUGE-1/2 F", 0, 100, partial(rouge, "fmeasure")),
    ),
    caption="ROUGE-1/2: mean of ROUGE-1 and ROUGE-2, recall or F-measure, of words that are not "
    "lemmatised.",
    place=50,
)
