"""Facts: what is true in the world, how it is stated and asked, and what one might confuse.

Every fact is stated in prose. It is asked in several wordings, and one of them is kept for the test
items: no training document holds it. So a test question is new in itself, while the fact behind it
can be known from prose and from its other wordings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from revocab.demoworld import lexicon, names, wordings
from revocab.demoworld.grammar import VOWELS, Noun, capitalised, noun
from revocab.demoworld.lexicon import pair, rows
from revocab.demoworld.wordings import Text, Wording

#: What a fact is about: a key, and what the names of its wordings stand for.
About = tuple[str, Mapping[str, Noun | Text]]


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
        """Return the wording kept for the test items, or the others."""
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
    found = []
    for man, woman, place, tool, does, to_do in rows(lexicon.JOBS):
        english = man.partition("=")[2]
        found.append(
            Occupation(
                noun(man),
                noun(f"{woman} = {english}"),
                noun(place),
                noun(tool),
                pair(does),
                pair(to_do),
            )
        )
    return found


def both(it: str, en: str) -> Text:
    return {"it": it, "en": en}


class Names(dict[str, Any]):
    """What names stand for in one language; with a capital, the text beginning in upper case."""

    def __missing__(self, name: str) -> str:
        return capitalised(self[name.lower()])


def facts_about(block: str, things: Iterable[About]) -> Iterator[Fact]:
    """Yield a fact for every thing and every wording of ``block``, where there is an answer."""
    kinds = wordings.wordings(block)
    for key, given in things:
        meant = {
            language: Names(
                {
                    name: one[language] if isinstance(one, dict) else getattr(one, language)
                    for name, one in given.items()
                }
            )
            for language in ("it", "en")
        }
        for kind in kinds:
            fact = fact_of(kind, key, meant)
            if fact.answer["it"] != "-":
                yield fact


def fact_of(kind: Wording, key: str, meant: Mapping[str, Names]) -> Fact:
    """Return a kind of fact about one thing; ``meant``: what names stand for by language."""

    def filled(text: Text) -> Text:
        return {language: one.format_map(meant[language]) for language, one in text.items()}

    return Fact(
        f"{kind.name}-{key}",
        kind.subject,
        tuple(map(filled, kind.statements)),
        tuple(map(filled, kind.questions)),
        filled(kind.answer),
        kind.pool.format_map(meant["it"]),
    )


def about_jobs() -> Iterator[About]:
    for job in occupations():
        parts: dict[str, Noun | Text] = {
            "place": job.place,
            "tool": job.tool,
            "does": job.does,
            "to_do": job.to_do,
        }
        yield job.man.it.word, {"job": job.man, **parts}


def about_animals() -> Iterator[About]:
    parts = ("sound", "food", "home", "kind", "cover", "young")
    for name, *others in rows(lexicon.ANIMALS):
        animal = noun(name)
        yield animal.it.word, {"animal": animal, **dict(zip(parts, map(pair, others), strict=True))}


def about_tools() -> Iterator[About]:
    for name, use in rows(lexicon.TOOLS):
        tool = noun(name)
        yield tool.it.word, {"tool": tool, "to_do": pair(use)}


def about_materials() -> Iterator[About]:
    for name, quality, thing in rows(lexicon.MATERIALS):
        material = noun(name)
        it, en = material.it, material.en
        yield (
            it.word,
            {
                "material": material,
                "bare": both(it.word, en.word),
                "gender": both(it.gender, ""),
                "quality": pair(quality),
                "thing": pair(thing),
                "of": both(
                    f"d'{it.word}" if it.word[0] in VOWELS else f"di {it.word}", f"of {en.word}"
                ),
            },
        )


def about_fruits() -> Iterator[About]:
    for name, colour, where in rows(lexicon.FRUITS):
        fruit = noun(name)
        yield fruit.it.word, {"fruit": fruit, "looks": pair(colour), "grows": pair(where)}


def about_physics() -> Iterator[About]:
    """Yield what follows from what."""
    for cause, effect in rows(lexicon.PHYSICS):
        when = pair(cause)
        yield when["en"], {"when": when, "then": pair(effect)}


def about_places(block: str) -> Iterator[About]:
    """Yield where one does what, or with which part of the body."""
    for where, what in rows(block):
        place = pair(where)
        yield place["en"], {"place": place, "act": pair(what)}


def about_towns(seed: int) -> Iterator[About]:
    """Yield on which river each of forty towns lies."""
    rivers = names.rivers()
    for number, town in enumerate(names.towns(seed)[:40]):
        river = rivers[number % len(rivers)]
        yield town, {"town": both(town, town), "river": both(river, river)}


def all_facts(seed: int) -> list[Fact]:
    """Return every fact of the world, in a stable order."""
    return [
        *facts_about(wordings.JOB, about_jobs()),
        *facts_about(wordings.ANIMAL, about_animals()),
        *facts_about(wordings.TOOL, about_tools()),
        *facts_about(wordings.MATERIAL, about_materials()),
        *facts_about(wordings.FRUIT, about_fruits()),
        *facts_about(wordings.PHYSICS, about_physics()),
        *facts_about(wordings.PLACE, about_places(lexicon.PLACES)),
        *facts_about(wordings.BODY, about_places(lexicon.BODY)),
        *facts_about(wordings.RIVER, about_towns(seed)),
    ]
