"""Facts: what is true in the world, how it is stated and asked, and what one might confuse.

Every fact is stated in prose. It is asked in several wordings, and one of them is kept for the test
items: no training document holds it. So a test question is new in itself, while the fact behind it
can be known from prose and from its other wordings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from revocab.demoworld import lexicon, names, wordings
from revocab.demoworld.grammar import Noun, capitalised, noun
from revocab.demoworld.lexicon import pair, rows
from revocab.demoworld.wordings import Text

#: What the names in a wording stand for: nouns, texts of both languages, or what both have alike.
Things = Mapping[str, Any]

#: Wordings, entries of the lexicon, and names of their columns: a star marks nouns, - is not used.
KINDS = (
    (wordings.JOB, lexicon.JOBS, "job* - place* tool* does to_do"),
    (wordings.ANIMAL, lexicon.ANIMALS, "animal* sound food home kind cover young"),
    (wordings.TOOL, lexicon.TOOLS, "tool* to_do"),
    (wordings.MATERIAL, lexicon.MATERIALS, "material* quality thing"),
    (wordings.FRUIT, lexicon.FRUITS, "fruit* looks grows"),
    (wordings.PHYSICS, lexicon.PHYSICS, "when then"),
    (wordings.PLACE, lexicon.PLACES, "place act"),
    (wordings.BODY, lexicon.BODY, "place act"),
)


@dataclass(frozen=True)
class Fact:
    """One fact: statements, questions, answer by language; ``pool`` groups answers to confuse."""

    key: str
    subject: str
    statements: tuple[Text, ...]
    questions: tuple[Text, ...]
    answer: Text
    pool: str

    def asked(self, test: bool) -> tuple[Text, ...]:
        kept = hashlib.sha256(self.key.encode()).digest()[0] % len(self.questions)
        return tuple(
            question for number, question in enumerate(self.questions) if (number == kept) == test
        )


@dataclass(frozen=True)
class Occupation:
    """A job: its names, workplace, tool, and what is done."""

    man: Noun
    woman: Noun
    place: Noun
    tool: Noun
    does: Text
    to_do: Text

    def of(self, person: names.Person) -> Noun:
        return self.woman if person.female else self.man


def occupations() -> list[Occupation]:
    jobs = []
    for man, woman, place, tool, does, to_do in rows(lexicon.JOBS):
        her = noun(f"{woman} = {man.partition('=')[2]}")
        work = pair(does), pair(to_do)
        jobs.append(Occupation(noun(man), her, noun(place), noun(tool), *work))
    return jobs


class Names(dict[str, Any]):
    """What names stand for in one language; with a capital, the text beginning in upper case."""

    def __init__(self, things: Things, language: str):
        for name, thing in things.items():
            if isinstance(thing, Noun):
                self[name] = getattr(thing, language)
            else:
                self[name] = thing[language] if isinstance(thing, dict) else thing

    def __missing__(self, name: str) -> str:
        return capitalised(self[name.lower()])


def filled(text: Text, things: Things) -> Text:
    return {lang: words.format_map(Names(things, lang)) for lang, words in text.items()}


def facts_about(block: str, key: str, things: Things) -> Iterator[Fact]:
    for kind in wordings.wordings(block):
        answer = filled(kind.answer, things)
        if answer["it"] != "-":
            yield Fact(
                f"{kind.name}-{key}",
                kind.subject,
                tuple(filled(statement, things) for statement in kind.statements),
                tuple(filled(question, things) for question in kind.questions),
                answer,
                kind.pool.format_map(Names(things, "it")),
            )


def all_facts(seed: int) -> list[Fact]:
    """Return every fact of the world, in a stable order."""
    facts: list[Fact] = []
    for block, entries, columns in KINDS:
        for row in rows(entries):
            things: dict[str, Any] = {
                name.removesuffix("*"): noun(text) if name.endswith("*") else pair(text)
                for name, text in zip(columns.split(), row, strict=True)
                if name != "-"
            }
            first = next(iter(things.values()))
            key = first.it.word if isinstance(first, Noun) else first["en"]
            facts += facts_about(block, key, things)
    for number, town in enumerate(names.towns(seed)[:40]):
        things = {"town": town, "river": names.RIVERS[number % len(names.RIVERS)]}
        facts += facts_about(wordings.RIVER, town, things)
    return facts
