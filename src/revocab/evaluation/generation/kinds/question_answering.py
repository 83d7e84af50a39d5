"""Questions on a passage, as in Table 9 of the SAVA paper:

    Contesto: …
    Domanda: …
    Risposta: 2008

    Contesto: …
    Domanda: …
    Risposta:

Rows are SQuAD's: ``context``, ``question`` and ``answers``, a list of texts or the data set's own
``{"text": […]}``. The first answer is that of a shot. Any of them is right, but
for ROUGE-L as SAVA's authors released it, which knows the first alone.
"""

from __future__ import annotations

from typing import Literal

from revocab.evaluation.generation.kind import GenerationKind, OneLanguage, Row
from revocab.evaluation.generation.metrics import (
    EXACT_MATCH,
    F1,
    F1_EXACT_MATCH,
    RELEASED_ROUGE_L,
    ROUGE_L,
)
from revocab.training.chat.layout import Languages, Layout


class QuestionAnswering(OneLanguage):
    """Short answers from a passage."""

    kind: Literal["question_answering"]


def answers(row: Row, languages: Languages) -> list[str]:
    right = row["answers"]
    return [right] if isinstance(right, str) else right


def texts(row: Row, languages: Languages) -> list[str]:
    return [row["context"], row["question"], answers(row, languages)[0]]


def is_query(shot: Row, query: Row) -> bool:
    """Return whether both ask the same of the same passage, whatever their answers."""
    return all(shot[name] == query[name] for name in ("context", "question"))


KIND = GenerationKind(
    options=QuestionAnswering,
    layout=Layout(labels=("<<context>>", "<<question>>", "<<answer>>")),
    fields=lambda languages: ("context", "question", "answers"),
    scored=("answers",),
    texts=texts,
    metrics=(ROUGE_L, EXACT_MATCH, F1, F1_EXACT_MATCH, RELEASED_ROUGE_L),
    shown=(ROUGE_L.name,),
    is_query=is_query,
    references=answers,
    place=20,
)
