"""Translation, as in Table 8 of the SAVA paper:

    Traduci dall'Inglese all'Italiano
    Text: I love you so much.
    Translation: Ti amo così tanto.

    Text: …
    Translation:

With ``repeat_instruction`` the first line stands before every shot and the query, as in the code
that the paper's authors released (github.com/SapienzaNLP/sava, evaluation/prompting_translate).

The instruction is in the language translated into; the labels are English whatever the languages.
Rows have a field for each of the two.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from revocab.closed import Language
from revocab.corpora.translations import LAYOUT, aliases
from revocab.evaluation.generation.kind import GenerationKind, PromptOptions, Row
from revocab.evaluation.generation.metrics import BLEU, CHRF
from revocab.training.chat.layout import Languages


class Translation(PromptOptions):
    """From one language into another."""

    kind: Literal["translation"]
    direction: list[Language] = Field(
        min_length=2, max_length=2, description="source and target language"
    )

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


def changes(options: Translation) -> dict[str, Any]:
    return {"repeated": True} if options.repeat_instruction else {}


def texts(row: Row, languages: Languages) -> list[str]:
    return [row[language] for language in languages]


def source(row: Row, languages: Languages) -> str:
    return row[languages[0]]


def header(task: str, languages: Languages) -> str:
    """Return a task as a header, such as ``flores EN-IT`` of ``flores_en_it``."""
    direction = "-".join(language.upper() for language in languages)
    return f"{task.removesuffix('_' + '_'.join(languages))} {direction}"


KIND = GenerationKind(
    options=Translation,
    layout=LAYOUT,
    changes=changes,
    fields=lambda languages: languages,
    texts=texts,
    metrics=(CHRF, BLEU),
    aliases=aliases,
    comet_source=source,
    header=header,
    place=10,
)
