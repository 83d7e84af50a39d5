"""Stories: short scenes about people, in both languages from one plan."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from revocab.demoworld import lexicon, names, wordings
from revocab.demoworld.facts import Fact, Occupation, all_facts, filled, occupations
from revocab.demoworld.grammar import Noun, noun
from revocab.demoworld.lexicon import pair, rows
from revocab.demoworld.wordings import Text

SENTENCES = {name: pair(text) for name, text in rows(wordings.SENTENCES)}
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
    """Return a sentence of :data:`wordings.SENTENCES` about someone, and their job."""
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
    facts = draw.sample(world.facts, 2)
    rest += [draw.choice(fact.statements) for fact in facts]
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
    return [statement for fact in about for statement in draw.sample(fact.statements, 1)] + [
        draw.choice(draw.choice(world.facts).statements) for _ in range(3)
    ]
