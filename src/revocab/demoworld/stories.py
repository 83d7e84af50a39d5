"""What is true in the world, how it is stated and asked, and what one might confuse; and short
scenes about people, in both languages from one plan.

Every fact is stated in prose. It is asked in several wordings, and one of them is kept for the test
items: no training document holds it. So a test question is new in itself, while the fact behind it
can be known from prose and from its other wordings.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from revocab.demoworld import lexicon, names
from revocab.demoworld.grammar import Noun, capitalised, noun
from revocab.demoworld.lexicon import Text, pair, rows

#: What the names in a wording stand for: nouns, texts of both languages, or what both have alike.
Things = Mapping[str, Any]

#: Wordings, entries of the lexicon, and names of their columns: a star marks nouns, - is not used.
KINDS = (
    (lexicon.JOB, lexicon.JOBS, "job* - place* tool* does to_do"),
    (lexicon.ANIMAL, lexicon.ANIMALS, "animal* sound food home kind cover young"),
    (lexicon.TOOL, lexicon.TOOLS, "tool* to_do"),
    (lexicon.MATERIAL, lexicon.MATERIALS, "material* quality thing"),
    (lexicon.FRUIT, lexicon.FRUITS, "fruit* looks grows"),
    (lexicon.ON_PHYSICS, lexicon.PHYSICS, "when then"),
    (lexicon.PLACE, lexicon.PLACES, "place act"),
    (lexicon.ON_BODY, lexicon.BODY, "place act"),
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

    def wordings(self, test: bool) -> tuple[Text, ...]:
        """Return the question that is kept for test items, or all others."""
        own = hashlib.sha256(self.key.encode()).digest()[0] % len(self.questions)
        return (self.questions[own],) if test else self.questions[:own] + self.questions[own + 1 :]


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
        nouns = noun(man), her, noun(place), noun(tool)
        jobs.append(Occupation(*nouns, pair(does), pair(to_do)))
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
    """Yield the facts that a block of wordings says of some things."""
    for kind in block.strip().split("\n\n"):
        head, *lines = kind.splitlines()
        name, subject, pool, right = (column.strip() for column in head.split("|"))
        answer = filled(pair(right), things)
        if answer["it"] != "-":
            statements, questions = (
                tuple(filled(pair(line[1:]), things) for line in lines if line.startswith(mark))
                for mark in ".?"
            )
            where = pool.format_map(Names(things, "it"))
            yield Fact(f"{name}-{key}", subject, statements, questions, answer, where)


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
        facts += facts_about(lexicon.RIVER, town, things)
    return facts


SENTENCES = {name: pair(text) for name, text in rows(lexicon.SENTENCES)}
PETS = ("Pippo", "Birillo", "Nuvola", "Stella", "Briciola", "Fulmine", "Zorro", "Luna")


@dataclass(frozen=True)
class World:
    """Everything there is, made once per seed."""

    people: list[names.Person]
    test_people: list[names.Person]
    towns: list[str]
    occupations: list[Occupation]
    facts: list[Fact]
    animals: list[Noun]
    fruits: list[Noun]
    tools: list[tuple[Noun, Text]]
    moods: list[list[str]]
    times: list[Text]

    def side(self, test: bool) -> list[names.Person]:
        return self.test_people if test else self.people


def build(seed: int) -> World:
    """Return the world of a seed; one person in five appears in test items only."""
    people = names.people(seed)
    return World(
        people=[person for number, person in enumerate(people) if number % 10 < 8],
        test_people=[person for number, person in enumerate(people) if number % 10 >= 8],
        towns=names.towns(seed),
        occupations=occupations(),
        facts=all_facts(seed),
        animals=[noun(row[0]) for row in rows(lexicon.ANIMALS)],
        fruits=[noun(row[0]) for row in rows(lexicon.FRUITS)],
        tools=[(noun(row[0]), pair(row[1])) for row in rows(lexicon.TOOLS)],
        moods=[line.split() for line in lexicon.MOODS.strip().splitlines()],
        times=[pair(line) for line in lexicon.TIMES.strip().splitlines()],
    )


def say(kind: str, person: names.Person, job: Occupation | None = None, /, **things: Any) -> Text:
    """Return a sentence of :data:`lexicon.SENTENCES` about someone, and their job."""
    work = {**vars(job), "role": job.of(person)} if job else {}
    return filled(SENTENCES[kind], {"person": person, "he": person.he, **work, **things})


def story(world: World, draw: random.Random, test: bool = False) -> list[Text]:
    person, other = draw.sample(world.side(test), 2)
    job, others_job = draw.sample(world.occupations, 2)
    home, away = draw.sample(world.towns, 2)
    tool, use = draw.choice(world.tools)
    time, later = draw.sample(world.times, 2)
    opening = [
        say("introduction", person, job, town=home),
        say("to_work", person, job, time=time),
        say("at_work", person, job),
    ]
    animal, name = draw.choice(world.animals), draw.choice(PETS)
    man, woman, english = draw.choice(world.moods)
    mood = {"it": woman if person.female else man, "en": english}
    rest = [
        say("with_tool", person, job),
        say("birth", person, town=away),
        say("pet", person, animal=animal, name=name),
        say("feeling", person, time=later, mood=mood),
        say("bought", person, fruit=draw.choice(world.fruits), town=away),
        say("needs_tool", person, tool=tool, use=use),
        say("meets", person, other=other, role=others_job.of(other)),
    ]
    rest += [draw.choice(fact.statements) for fact in draw.sample(world.facts, 2)]
    draw.shuffle(rest)
    return opening + rest[: draw.randint(4, len(rest))]


def description(world: World, draw: random.Random) -> list[Text]:
    subject = draw.choice(sorted({fact.subject for fact in world.facts}))
    near = [fact for fact in world.facts if fact.subject == subject]
    chosen = draw.sample(near, min(len(near), draw.randint(7, 10))) + draw.sample(world.facts, 2)
    return [draw.choice(fact.statements) for fact in chosen]


def portrait(world: World, draw: random.Random) -> list[Text]:
    facts = [fact for fact in world.facts if fact.key.startswith(("animal-", "job-"))]
    thing = draw.choice(facts).key.split("-", 2)[2]
    about = [fact for fact in facts if fact.key.split("-", 2)[2] == thing]
    draw.shuffle(about)
    stated = [draw.sample(fact.statements, 1)[0] for fact in about]
    return stated + [draw.choice(draw.choice(world.facts).statements) for _ in range(3)]
