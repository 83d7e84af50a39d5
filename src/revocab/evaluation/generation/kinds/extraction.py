"""Extraction: which sentences of a text matter most, by how likely the model finds each of them.

    Выбери из текста самые важные предложения.
    Текст: Утром выпал снег. Дороги закрыты. Фото автора.
    Самое важное: Дороги закрыты.

The summaries of LEP's Darumeru (Gazeta, extractive) are scored so: nothing is generated, and every
sentence of a text is a candidate (:mod:`revocab.evaluation.generation.candidates`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from revocab.errors import refuse
from revocab.evaluation.generation.kind import GenerationKind, OneLanguage, Row
from revocab.evaluation.metric import Metric, mean_of
from revocab.training.chat.layout import Languages, Layout

if TYPE_CHECKING:
    from revocab.evaluation.resampling import Items

SENTENCES, EXTRACTED = "sentences", "extracted"


class Extraction(OneLanguage):
    """The most important sentences of a text; rows have ``sentences``, a list of texts, and
    ``extracted``, the places of the important ones from 0.
    """

    kind: Literal["extraction"]


def marked(rows: list[Row], options: Extraction, where: str) -> list[Row]:
    """Return the rows of which a sentence is important, with their text; blank sentences are left
    out, and the others counted anew.

    Rows without an important sentence are named and left out: no share of them can be found.
    Raises :class:`RevocabError` naming every row with a place that no sentence has.
    """
    problems, unmarked, made = [], [], []
    for row in rows:
        if not {SENTENCES, EXTRACTED} <= row.keys():
            made.append(row)  # the lack is told of all kinds alike
            continue
        sentences, places = row[SENTENCES], sorted(set(row[EXTRACTED]))
        if wrong := [place for place in places if not 0 <= place < len(sentences)]:
            problems.append(
                f"{where}, row {row['id']}: extracted: received {wrong}; the text has "
                f"{len(sentences)} sentences, counted from 0"
            )
            continue
        kept = [place for place, text in enumerate(sentences) if text.strip()]
        extracted = [kept.index(place) for place in places if place in kept]
        texts = [" ".join(sentences[place].split()) for place in kept]
        if extracted:
            made.append({**row, SENTENCES: texts, EXTRACTED: extracted, "text": " ".join(texts)})
        else:
            unmarked.append(str(row["id"]))
    refuse(problems)
    if unmarked:
        print(f"{where}: no sentence is extracted of rows {', '.join(unmarked)}", file=sys.stderr)
    return made


def right_sentences(row: Row, languages: Languages) -> list[str]:
    return [text for place, text in enumerate(row[SENTENCES]) if place in row[EXTRACTED]]


def texts(row: Row, languages: Languages) -> list[str]:
    return [row["text"], " ".join(right_sentences(row, languages))]


def r_precision(rows: Sequence[dict[str, Any]], languages: Languages) -> Items:
    """Return items whose score is the percentage of the important sentences, K of a text, that are
    among the K that were chosen. Mean over texts.
    """
    return mean_of(
        [100 * len(set(row["chosen"]) & set(row[EXTRACTED])) / len(row[EXTRACTED]) for row in rows]
    )


KIND = GenerationKind(
    options=Extraction,
    layout=Layout(labels=("<<text>>", "<<answer>>"), repeated=True, label_begins_answer=True),
    rows=marked,
    fields=lambda languages: ("text", SENTENCES, EXTRACTED),
    scored=(SENTENCES, EXTRACTED),
    as_given=(SENTENCES, EXTRACTED),
    kept=(EXTRACTED,),
    texts=texts,
    references=right_sentences,
    candidates=lambda row: row[SENTENCES],
    metrics=(Metric("r_precision", "R-precision", 0, 100, r_precision),),
    caption="R-precision: per cent of a text's important sentences among as many that the model "
    "finds the likeliest.",
    place=60,
)
