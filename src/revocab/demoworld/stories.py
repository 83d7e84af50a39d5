"""Stories: short scenes about people, in both languages from one plan."""

from __future__ import annotations

import random
from dataclasses import dataclass

from revocab.demoworld import lexicon, names
from revocab.demoworld.facts import Fact, Occupation, all_facts, both, occupations
from revocab.demoworld.grammar import Noun, capitalised, noun
from revocab.demoworld.lexicon import pair, rows
from revocab.demoworld.wordings import Text

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

    def by_pool(self, pool: str) -> list[Fact]:
        """Return the facts whose answers can be confused with one another."""
        return [fact for fact in self.facts if fact.pool == pool]


def build(seed: int) -> World:
    """Return the world of a seed; one person in five appears in test items only."""
    people = names.people(seed)
    return World(
        people=[one for number, one in enumerate(people) if number % 10 < 8],
        test_people=[one for number, one in enumerate(people) if number % 10 >= 8],
        towns=names.towns(seed),
        occupations=occupations(),
        facts=all_facts(seed),
        animals=[noun(row[0]) for row in rows(lexicon.ANIMALS)],
        fruits=[noun(row[0]) for row in rows(lexicon.FRUITS)],
        tools=[(noun(row[0]), pair(row[1])) for row in rows(lexicon.TOOLS)],
        moods=[line.split() for line in lexicon.MOODS.strip().splitlines()],
        times=[pair(line) for line in lexicon.TIMES.strip().splitlines()],
    )


def introduction(person: names.Person, job: Occupation, town: str) -> Text:
    role = job.of(person)
    return both(
        f"{person.full} è {role.it.a} di {town}.", f"{person.full} is {role.en.a} from {town}."
    )


def to_work(person: names.Person, job: Occupation, time: Text) -> Text:
    return both(
        f"{capitalised(time['it'])} {person.name} va {job.place.it.al}.",
        f"{capitalised(time['en'])} {person.name} goes to {job.place.en.the}.",
    )


def at_work(person: names.Person, job: Occupation) -> Text:
    return both(f"Lì {person.name} {job.does['it']}.", f"There {person.name} {job.does['en']}.")


def with_tool(person: names.Person, job: Occupation) -> Text:
    return both(
        f"Per {job.to_do['it']} usa {job.tool.it.the}.",
        f"To {job.to_do['en']} {person.he} uses {job.tool.en.the}.",
    )


def pet(person: names.Person, animal: Noun, name: str) -> Text:
    return both(
        f"{person.name} ha {animal.it.a} che si chiama {name}.",
        f"{person.name} has {animal.en.a} called {name}.",
    )


def feeling(person: names.Person, mood: list[str], time: Text) -> Text:
    return both(
        f"{capitalised(time['it'])} {person.name} è {mood[1] if person.female else mood[0]}.",
        f"{capitalised(time['en'])} {person.name} is {mood[2]}.",
    )


def birth(person: names.Person, town: str) -> Text:
    return both(f"È nat{person.o} a {town}.", f"{capitalised(person.he)} was born in {town}.")


def bought(person: names.Person, fruit: Noun, town: str) -> Text:
    return both(
        f"Ieri {person.name} è andat{person.o} al mercato di {town} e ha comprato {fruit.it.a}.",
        f"Yesterday {person.name} went to the market of {town} and bought {fruit.en.a}.",
    )


def needs_tool(person: names.Person, tool: Noun, use: Text) -> Text:
    return both(
        f"{person.name} vuole {use['it']} e prende {tool.it.the}.",
        f"{person.name} wants to {use['en']} and takes {tool.en.the}.",
    )


def meets(person: names.Person, other: names.Person, job: Occupation) -> Text:
    role = job.of(other)
    return both(
        f"La sera incontra {other.name}, {role.it.the} del paese.",
        f"In the evening {person.he} meets {other.name}, {role.en.the} of the village.",
    )


def story(world: World, draw: random.Random, people: list[names.Person]) -> list[Text]:
    """Return the sentences of one story about someone at work and at home."""
    person, other = draw.sample(people, 2)
    job, others_job = draw.sample(world.occupations, 2)
    home, away = draw.sample(world.towns, 2)
    tool, use = draw.choice(world.tools)
    time, later = draw.sample(world.times, 2)
    opening = [
        introduction(person, job, home),
        to_work(person, job, time),
        at_work(person, job),
    ]
    rest = [
        with_tool(person, job),
        birth(person, away),
        pet(person, draw.choice(world.animals), draw.choice(PETS)),
        feeling(person, draw.choice(world.moods), later),
        bought(person, draw.choice(world.fruits), away),
        needs_tool(person, tool, use),
        meets(person, other, others_job),
    ]
    facts = draw.sample(world.facts, 2)
    rest += [draw.choice(fact.statements) for fact in facts]
    draw.shuffle(rest)
    return opening + rest[: draw.randint(4, len(rest))]


def description(world: World, draw: random.Random) -> list[Text]:
    """Return stated facts, most of them about one subject."""
    subject = draw.choice(sorted({fact.subject for fact in world.facts}))
    near = [fact for fact in world.facts if fact.subject == subject]
    chosen = draw.sample(near, min(len(near), draw.randint(7, 10))) + draw.sample(world.facts, 2)
    return [draw.choice(fact.statements) for fact in chosen]


def portrait(world: World, draw: random.Random) -> list[Text]:
    """Return all that is known about one animal or one job."""
    fact = draw.choice([one for one in world.facts if one.key.startswith(("animal-", "job-"))])
    thing = fact.key.split("-", 2)[2]
    about = [
        one
        for one in world.facts
        if one.key.startswith(("animal-", "job-")) and one.key.split("-", 2)[2] == thing
    ]
    draw.shuffle(about)
    return [statement for one in about for statement in draw.sample(one.statements, 1)] + [
        draw.choice(draw.choice(world.facts).statements) for _ in range(3)
    ]
