"""Parallel text as conversations: each asks for a translation, and the answer is the other side.

They ask as generation tasks of kind ``translation`` do, with the same layout. Models are tuned on
them as ALMA is (Xu et al. 2024, "A Paradigm Shift in Machine Translation"), and VocADT after it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pydantic import Field, model_validator

from revocab.closed import Closed, Id, Language, OneLine
from revocab.corpora.source import renamed
from revocab.errors import RevocabError
from revocab.limits import Count
from revocab.training.chat.layout import Languages, Layout, LayoutOptions

#: How a translation is asked for, unless an experiment says otherwise (SAVA's Table 8).
LAYOUT = Layout(instruction="<<translate>>", labels=("Text", "Translation"))


class TopPairs(Closed):
    """Which pairs are kept: those with the highest scores; of equal ones the earlier."""

    field: OneLine = Field(description="field of a row that has its score, a number")
    count: Count = Field(description="pairs to keep")


class Translations(Closed):
    """How parallel text becomes conversations."""

    languages: list[Language] = Field(
        min_length=2, max_length=2, description="from the first into the second"
    )
    both_directions: bool = Field(
        default=False, description="each pair also from the second into the first"
    )
    fields: dict[Id, OneLine] = Field(
        default_factory=dict,
        description="field of a row with each language's text; default: called as the language",
    )
    top: TopPairs | None = Field(
        default=None, description="keep only the pairs with the highest scores; default: all"
    )
    layout: LayoutOptions | None = Field(
        default=None, description="changes to how it is asked, as in translation tasks"
    )

    @model_validator(mode="after")
    def _two_languages(self) -> Translations:
        if len({*self.languages}) < 2:
            raise ValueError("a translation is from one language into another, and both are equal")
        strange = sorted({*self.fields} - {*self.languages})
        if strange:
            raise ValueError(
                f"fields: {', '.join(strange)} is none of the languages"
                f" ({', '.join(self.languages)}); name fields by these"
            )
        return self

    @property
    def directions(self) -> list[tuple[str, str]]:
        first, second = self.languages
        return [(first, second), *([(second, first)] if self.both_directions else [])]

    @property
    def layouts(self) -> dict[tuple[str, str], Layout]:
        """Return how each of the directions is asked for, in words.

        Raises :class:`RevocabError` for words that the language of the prompt lacks.
        """
        changes = self.layout.given() if self.layout else {}
        return {
            direction: LAYOUT.in_words(direction, aliases(direction), changes)
            for direction in self.directions
        }


class Pair(NamedTuple):
    """A text in two languages."""

    number: int
    row: dict[str, Any]
    #: By language, on one line each.
    texts: dict[str, str]


def aliases(languages: Languages) -> dict[str, str]:
    return {"source": f"from_{languages[0]}", "target": f"from_{languages[1]}"}


def pairs(rows: Iterable[Any], label: str, options: Translations) -> Iterator[Pair]:
    """Yield the pairs to make conversations of, in the order of the rows.

    A pair with an empty side has empty texts, and is never among the highest. Memory holds the
    pairs of the highest scores. Raises :class:`RevocabError` naming the row that lacks a field, or
    has no text or no score in it.
    """
    pairs = (_pair(row, number, label, options) for number, row in enumerate(rows, 1))
    return pairs if options.top is None else iter(_highest(pairs, label, options.top))


def _pair(row: Any, number: int, label: str, options: Translations) -> Pair:
    where = f"{label}, row {number}"
    if not isinstance(row, dict):
        raise RevocabError(f"{where}: a {type(row).__name__}, expected an object")
    fields = {language: options.fields.get(language, language) for language in options.languages}
    named = renamed(row, fields, f"{where}, translation.fields")
    texts = {}
    for language, field in fields.items():
        value = named[language]
        if value is not None and not isinstance(value, str):
            raise RevocabError(
                f"{where}: field {field!r} is a {type(value).__name__}, expected text"
            )
        texts[language] = " ".join((value or "").split())
    return Pair(number, row, texts if all(texts.values()) else dict.fromkeys(texts, ""))


def _highest(pairs: Iterable[Pair], label: str, top: TopPairs) -> list[Pair]:
    """Return the ``top`` pairs in the order of the rows; one that is among them counts once."""
    heap: list[tuple[float, int, Pair]] = []
    chosen: set[tuple[str, ...]] = set()
    for pair in pairs:
        texts = tuple(pair.texts.values())
        if not all(texts) or texts in chosen:
            continue
        # The number tells entries apart before pairs are compared; an earlier one is greater.
        entry = (_score(pair, label, top.field), -pair.number, pair)
        if len(heap) < top.count:
            heapq.heappush(heap, entry)
        elif entry < heap[0]:
            continue
        else:
            *_, dropped = heapq.heapreplace(heap, entry)
            chosen.remove(tuple(dropped.texts.values()))
        chosen.add(texts)
    return sorted(pair for *_, pair in heap)


def _score(pair: Pair, label: str, field: str) -> float:
    value = renamed(pair.row, {"score": field}, f"{label}, row {pair.number}, translation.top")
    try:
        score = float(value["score"])
    except (TypeError, ValueError):
        score = math.nan
    if math.isnan(score):
        raise RevocabError(
            f"{label}, row {pair.number}: field {field!r} is {value['score']!r}, expected a"
            " number; name the field of the scores (config: translation.top.field)"
        )
    return score
