"""Exams and extraction, as in LEP's Darumeru.

An answer of an exam (the Unified State Exam of MERA, USE) is worth points by its rule:

- ``matching``: one for each place of a comma-separated list that is right, if it is as long;
- ``text``: one for one of the right answers, which commas separate, whatever its case, spaces,
  digits and marks;
- ``choices``: one for exactly the right ones of a comma-separated list;
- ``penalised``: one for each right one of a list, less one for each that is too many.

Extraction (Gazeta, extractive) asks which sentences of a text matter most. Nothing is generated:
every sentence is a candidate, and the likeliest are taken
(:func:`revocab.evaluation.generation.generate.chosen_row`).

    Выбери из текста самые важные предложения.
    Текст: Утром выпал снег. Дороги закрыты. Фото автора.
    Самое важное: Дороги закрыты.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from revocab.closed import OneLine
from revocab.errors import RevocabError, all_of
from revocab.evaluation.generation.kind import GenerationKind, OneLanguage
from revocab.evaluation.metrics import Metric, Row, mean_metric, mean_of
from revocab.limits import Count
from revocab.training.chat.layout import Languages, Layout

if TYPE_CHECKING:
    from revocab.evaluation.resampling import Items

MATCHING, TEXT, CHOICES, PENALISED = "matching", "text", "choices", "penalised"


class Exam(OneLanguage):
    """Questions whose points are summed over each variant: an exam paper of its own.

    Rows have ``question``, ``answer``, ``type``, ``number`` (that of the question in its variant)
    and ``variant``.
    """

    kind: Literal["exam"]
    maximum: Count = Field(description="points of a variant that are full marks")
    penalised: list[OneLine] = Field(
        default_factory=list,
        description="numbers of questions whose every further choice costs a point; others of"
        " the types matching and text are marked as such, and all others as choices",
    )

    @model_validator(mode="after")
    def _whole_variants(self) -> Exam:
        if self.limit is not None:
            raise ValueError("limit: a variant is marked as a whole; leave limit out")
        return self

    def usable(self, rows: list[Row], where: str) -> list[Row]:
        def rule(row: Row) -> str:
            if row.get("type") in (MATCHING, TEXT):
                return str(row["type"])
            return PENALISED if str(row.get("number")) in self.penalised else CHOICES

        return [
            {**row, "rule": rule(row), "maximum": str(self.maximum)}
            | {name: str(row[name]) for name in ("variant", "number", "type") if name in row}
            for row in rows
        ]


def points(rule: str, right: str, output: str) -> int:
    def letters(text: str) -> str:
        return re.sub(r"[\d\W]", "", text).lower()

    wanted, answered = ([part.strip() for part in text.split(",")] for text in (right, output))
    if rule == TEXT:
        return int(letters(output) in filter(None, map(letters, wanted)))
    if rule == MATCHING:
        pairs = zip(wanted, answered, strict=False)
        return sum(a == b for a, b in pairs) if len(wanted) == len(answered) else 0
    common = len({*wanted} & {*answered})
    if rule == PENALISED:
        return max(0, common - max(0, len(answered) - len(wanted)))
    return int(common == len({*wanted}) == len({*answered}))


def grade(rows: Sequence[Row], languages: Languages) -> Items:
    """Return items whose score is the mean of variants' points in per cent of their maximum."""
    variants = len({row["variant"] for row in rows})
    shares = (
        points(row["rule"], row["references"][0], row["output"]) / int(row["maximum"])
        for row in rows
    )
    return mean_of([100 * share * (len(rows) / variants) for share in shares])


EXAM = GenerationKind(
    options=Exam,
    layout=Layout(labels=("<<question>>", "<<answer>>")),
    fields=("question", "answer"),
    scored=("type", "number", "rule", "variant", "maximum"),
    stored=("rule", "variant", "maximum"),
    metrics=(Metric("grade", "Grade", 0, math.inf, grade),),
    caption="Grade: points of an exam paper in per cent of its full marks, mean over papers.",
    place=70,
)

SENTENCES, EXTRACTED = "sentences", "extracted"


class Extraction(OneLanguage):
    """The most important sentences of a text; rows have ``sentences``, a list of texts, and
    ``extracted``, the places of the important ones from 0.
    """

    kind: Literal["extraction"]

    def usable(self, rows: list[Row], where: str) -> list[Row]:
        """Return the rows of which a sentence is important, with their text; blank sentences are
        left out, and the others counted anew.

        Rows without an important sentence are named and left out: no share of them can be found.
        Raises :class:`RevocabError` naming every row with a place that no sentence has.
        """

        def filled(row: Row) -> Row:
            if not {SENTENCES, EXTRACTED} <= row.keys():
                return row  # a field that is not there is refused as that of any kind
            sentences, places = row[SENTENCES], sorted(set(row[EXTRACTED]))
            if wrong := [place for place in places if not 0 <= place < len(sentences)]:
                raise RevocabError(
                    f"{where}, row {row['id']}: extracted: received {wrong}; the text has "
                    f"{len(sentences)} sentences, counted from 0"
                )
            full = [place for place, text in enumerate(sentences) if text.strip()]
            extracted = [full.index(place) for place in places if place in full]
            texts = [" ".join(sentences[place].split()) for place in full]
            return {**row, SENTENCES: texts, EXTRACTED: extracted, "text": " ".join(texts)}

        marked, unmarked = [], []
        for row in all_of(partial(filled, row) for row in rows):
            if SENTENCES in row and row.get(EXTRACTED) == []:
                unmarked.append(str(row["id"]))
            else:
                marked.append(row)
        if unmarked:
            listed = ", ".join(unmarked)
            print(f"{where}: no sentence is extracted of rows {listed}", file=sys.stderr)
        return marked


def right_sentences(row: Row) -> list[str]:
    return [text for place, text in enumerate(row[SENTENCES]) if place in row[EXTRACTED]]


def r_precision(row: Row) -> float:
    """Return the percentage of the K important sentences of a text that are among the K chosen."""
    return 100 * len(set(row["chosen"]) & set(row[EXTRACTED])) / len(row[EXTRACTED])


EXTRACTION = GenerationKind(
    options=Extraction,
    layout=Layout(labels=("<<text>>", "<<answer>>"), repeated=True, label_begins_answer=True),
    fields=("text", SENTENCES),
    scored=(EXTRACTED,),
    verbatim=(SENTENCES, EXTRACTED),
    stored=(EXTRACTED,),
    texts=lambda row, languages: [row["text"], " ".join(right_sentences(row))],
    references=right_sentences,
    candidates=SENTENCES,
    metrics=(mean_metric("r_precision", "R-precision", r_precision),),
    caption="R-precision: per cent of a text's important sentences among as many that the model "
    "finds the likeliest.",
    place=60,
)

KIND = (EXAM, EXTRACTION)
