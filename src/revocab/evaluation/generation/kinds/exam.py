"""Questions of an exam, whose points are summed over each variant: an exam paper of its own.

As the Unified State Exam of MERA and LEP's Darumeru (USE). An answer is worth points by its rule:

- ``matching``: one for each place of a comma-separated list that is right, if it is as long;
- ``text``: one for one of the right answers, which commas separate, whatever its case, spaces,
  digits and marks;
- ``choices``: one for exactly the right ones of a comma-separated list;
- ``penalised``: one for each right one of a list, less one for each that is too many.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from revocab.closed import OneLine
from revocab.evaluation.generation.kind import GenerationKind, OneLanguage, Row
from revocab.evaluation.metric import Metric, mean_of
from revocab.limits import Count
from revocab.training.chat.layout import Languages, Layout

if TYPE_CHECKING:
    from revocab.evaluation.resampling import Items

MATCHING, TEXT, CHOICES, PENALISED = "matching", "text", "choices", "penalised"


class Exam(OneLanguage):
    """Questions with points; rows have ``question``, ``answer``, ``type``, ``number`` (that of the
    question in its variant) and ``variant``.
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


def marked(rows: list[Row], options: Exam, where: str) -> list[Row]:
    return [
        {**row, "rule": rule_of(row, options), "maximum": str(options.maximum)}
        | {name: str(row[name]) for name in ("variant", "number", "type") if name in row}
        for row in rows
    ]


def rule_of(row: Row, options: Exam) -> str:
    if row.get("type") in (MATCHING, TEXT):
        return str(row["type"])
    return PENALISED if str(row.get("number")) in options.penalised else CHOICES


def listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def letters(text: str) -> str:
    return re.sub(r"[\d\W]", "", text).lower()


def points(rule: str, right: str, output: str) -> int:
    wanted, answered = listed(right), listed(output)
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
    """Return items whose score is the points of a variant in per cent of its maximum. Mean over
    variants.
    """
    variants = len({row["variant"] for row in rows})
    shares = (
        points(row["rule"], row["references"][0], row["output"]) / int(row["maximum"])
        for row in rows
    )
    return mean_of([100 * share * (len(rows) / variants) for share in shares])


KIND = GenerationKind(
    options=Exam,
    layout=Layout(labels=("<<question>>", "<<answer>>")),
    rows=marked,
    fields=lambda languages: ("question", "answer", "type", "number", "rule", "variant", "maximum"),
    scored=("answer", "type", "number", "rule", "variant", "maximum"),
    kept=("rule", "variant", "maximum"),
    texts=lambda row, languages: [row["question"], row["answer"]],
    references=lambda row, languages: [row["answer"]],
    metrics=(Metric("grade", "Grade", 0, math.inf, grade),),
    caption="Grade: points of an exam paper in per cent of its full marks, mean over papers.",
    place=70,
)
