"""Translations, answers and summaries: texts that are compared with references.

Translation, as in Table 8 of the SAVA paper:

    Traduci dall'Inglese all'Italiano
    Text: I love you so much.
    Translation: Ti amo così tanto.

    Text: …
    Translation:

Questions on a passage, as in its Table 9, and summaries, as in LEP's Darumeru (Gazeta):

    Contesto: …                          Напиши краткую аннотацию.
    Domanda: …                           Текст: …
    Risposta: 2008                       TL;DR: …
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from pydantic import Field, field_validator

from revocab.closed import Language
from revocab.corpora.translations import LAYOUT, aliases
from revocab.evaluation.generation.kind import GenerationKind, OneLanguage, PromptOptions
from revocab.evaluation.metrics import (
    BLEU,
    CHRF,
    EXACT_MATCH,
    F1,
    F1_EXACT_MATCH,
    RELEASED_ROUGE_L,
    ROUGE_L,
    Metric,
    Row,
    rouge_items,
)
from revocab.training.chat.layout import Languages, Layout


class Translation(PromptOptions):
    """From one language into another; rows have a field for each.

    The instruction is in the language translated into; the labels are English.
    """

    kind: Literal["translation"]
    direction: list[Language] = Field(
        min_length=2, max_length=2, description="source and target language"
    )

    #: As in the code that SAVA's authors released (evaluation/prompting_translate).
    repeat_instruction: bool = Field(
        default=False,
        description="repeat the instruction before every shot and the query; otherwise it "
        "appears once",
    )

    @field_validator("direction")
    @classmethod
    def _two_languages(cls, direction: list[str]) -> list[str]:
        if direction[0] == direction[1]:
            raise ValueError("a translation is from one language into another, and both are equal")
        return direction

    def layout_changes(self) -> dict[str, Any]:
        return ({"repeated": True} if self.repeat_instruction else {}) | super().layout_changes()


def header(task: str, languages: Languages) -> str:
    """Return a task as a header, such as ``flores EN-IT`` of ``flores_en_it``."""
    direction = "-".join(language.upper() for language in languages)
    return f"{task.removesuffix('_' + '_'.join(languages))} {direction}"


TRANSLATION = GenerationKind(
    options=Translation,
    layout=LAYOUT,
    metrics=(CHRF, BLEU),
    aliases=aliases,
    comet=True,
    header=header,
    place=10,
)


class QuestionAnswering(OneLanguage):
    """Short answers from a passage; rows are SQuAD's: ``context``, ``question`` and ``answers``.

    The answers are a list of texts or the data set's own ``{"text": […]}``. The first one is that
    of a shot. Any of them is right, but for ROUGE-L as SAVA's authors released it, which knows the
    first alone.
    """

    kind: Literal["question_answering"]


def answers(row: Row) -> list[str]:
    right = row["answers"]
    return [right] if isinstance(right, str) else right


QUESTION_ANSWERING = GenerationKind(
    options=QuestionAnswering,
    layout=Layout(labels=("<<context>>", "<<question>>", "<<answer>>")),
    fields=("context", "question", "answers"),
    texts=lambda row, languages: [row["context"], row["question"], answers(row)[0]],
    references=answers,
    same=("context", "question"),
    metrics=(ROUGE_L, EXACT_MATCH, F1, F1_EXACT_MATCH, RELEASED_ROUGE_L),
    in_tables=(ROUGE_L.name,),
    place=20,
)


class Summarisation(OneLanguage):
    """Summaries; rows have ``text`` and ``summary``, each a text or a list of sentences.

    LEP's paper names the recall, and the code that its authors released computes the F-measure of
    lemmas; here words are not lemmatised.
    """

    kind: Literal["summarisation"]

    def usable(self, rows: list[Row], where: str) -> list[Row]:
        def joined(name: str, value: Any) -> Any:
            return " ".join(value) if name in FIELDS and isinstance(value, list) else value

        return [{name: joined(name, value) for name, value in row.items()} for row in rows]


FIELDS = ("text", "summary")
rouge_1_2 = partial(partial, rouge_items, ("rouge1", "rouge2"))

SUMMARISATION = GenerationKind(
    options=Summarisation,
    layout=Layout(labels=("<<text>>", "TL;DR"), repeated=True),
    fields=FIELDS,
    metrics=(
        Metric("rouge_recall", "ROUGE-1/2 recall", 0, 100, rouge_1_2("recall")),
        Metric("rouge_f", "ROUGE-1/2 F", 0, 100, rouge_1_2("fmeasure")),
    ),
    caption="ROUGE-1/2: mean of ROUGE-1 and ROUGE-2, recall or F-measure, of words that are not "
    "lemmatised.",
    place=50,
)

KIND = (TRANSLATION, QUESTION_ANSWERING, SUMMARISATION)
