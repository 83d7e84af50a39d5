"""The world's facts as objects: read from the tables, tied to the seed's towns, split for testing.

Every fact is told in documents. For a fact in ``held_out`` no training document asks the question:
its questions are for the test items only.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from revocab.world import facts, words
from revocab.world.names import Names
from revocab.world.relations import RELATIONS, Relation


@dataclass(frozen=True, eq=False)
class Fact:
    """One fact: subject, object, sometimes a circumstance. Jobs have a noun for each gender."""

    relation: Relation
    key: str
    subject: Any
    object: Any
    circumstance: Any = None

    def subject_for(self, gender: str) -> Any:
        """Return the subject as a word; of a job, the word for a man or a woman."""
        return self.subject[gender] if isinstance(self.subject, dict) else self.subject


def _rows(name: str, seed: int) -> list[list[str]]:
    lines = getattr(facts, name).strip().splitlines()
    kept = random.Random(f"{seed}/facts/{name}").sample(range(len(lines)), SIZES[name])
    return [[cell.strip() for cell in lines[number].split(";")] for number in sorted(kept)]


#: How many rows of each table are true in one world: few enough for a small model to learn.
SIZES = {
    "JOBS": 26, "ANIMALS": 26, "TOOLS": 26, "THINGS": 22, "PROPERTIES": 22, "PHYSICS": 22,
    "BODY": 14, "PLACES": 20,
}  # fmt: skip
#: Share of the facts about which only test items ask.
HELD_OUT = 1 / 3


class Knowledge:
    """All facts, by relation; ``jobs``, ``animals`` … give the facts of one subject together."""

    def __init__(self, seed: int, names: Names):
        self.by_relation: dict[str, list[Fact]] = {name: [] for name in RELATIONS}
        self.topics: dict[str, list[dict[str, Fact]]] = {}
        self._read_people_and_animals(seed)
        self._read_pairs(seed)
        self._read_towns(seed, names)
        self.held_out = self._split(seed)

    def _add(self, relation: str, key: str, subject: Any, obj: Any, circumstance: Any = None) -> Fact:
        fact = Fact(RELATIONS[relation], f"{relation}/{key}", subject, obj, circumstance)
        self.by_relation[relation].append(fact)
        return fact

    def _read_people_and_animals(self, seed: int) -> None:
        jobs = []
        for job, place, action, tool in _rows("JOBS", seed):
            subject = words.nouns_by_gender(job)
            jobs.append({
                "job_place": self._add("job_place", job, subject, words.noun(place)),
                "job_action": self._add("job_action", job, subject, words.verb(action)),
                "job_tool": self._add("job_tool", job, subject, words.noun(tool)),
            })  # fmt: skip
        animals = []
        for animal, call, food, home, kind in _rows("ANIMALS", seed):
            subject = words.noun(animal)
            topic = {
                "animal_food": self._add("animal_food", animal, subject, words.noun(food)),
                "animal_home": self._add("animal_home", animal, subject, words.noun(home)),
                "animal_class": self._add("animal_class", animal, subject, _class(kind)),
            }
            if call != "-":
                topic["animal_call"] = self._add("animal_call", animal, subject, words.verb(call))
            animals.append(topic)
        self.topics |= {"jobs": jobs, "animals": animals}

    def _read_pairs(self, seed: int) -> None:
        readers = (
            ("tools", "tool_use", "TOOLS", words.verb),
            ("things", "thing_material", "THINGS", words.noun),
            ("stuff", "property", "PROPERTIES", words.adjective),
            ("body", "body_use", "BODY", words.verb),
            ("places", "place_use", "PLACES", words.verb),
        )
        for topic, relation, name, read in readers:
            self.topics[topic] = [
                {relation: self._add(relation, subject, words.noun(subject), read(obj))}
                for subject, obj in _rows(name, seed)
            ]
        self.topics["physics"] = [
            {
                "physical": self._add(
                    "physical", f"{what}/{how}", words.noun(what), words.verb(then), words.verb(how)
                )
            }
            for what, how, then in _rows("PHYSICS", seed)
        ]

    def _read_towns(self, seed: int, names: Names) -> None:
        choose = random.Random(f"{seed}/towns")
        products = list(words.table(facts.PRODUCTS, words.noun))
        choose.shuffle(products)
        towns = []
        for number, town in enumerate(names.known):
            region = names.regions[number % len(names.regions)]
            river = names.rivers[number % len(names.rivers)]
            towns.append({
                "town_region": self._add("town_region", town.it, town, region),
                "town_river": self._add("town_river", town.it, town, river),
                "town_product": self._add(
                    "town_product", town.it, town, products[number % len(products)]
                ),
            })  # fmt: skip
        self.topics["towns"] = towns

    def _split(self, seed: int) -> frozenset[str]:
        held_out = set()
        for name, members in self.by_relation.items():
            keys = [fact.key for fact in members]
            random.Random(f"{seed}/held-out/{name}").shuffle(keys)
            held_out.update(keys[: round(len(keys) * HELD_OUT)])
        return frozenset(held_out)

    def facts_for(self, family: str, test: bool) -> list[Fact]:
        """Return the facts that a family asks about, held out (``test``) or open to training."""
        return [
            fact
            for relation in RELATIONS.values()
            if family in relation.families
            for fact in self.by_relation[relation.name]
            if (fact.key in self.held_out) == test
        ]

    def alternatives(self, fact: Fact) -> list[Fact]:
        """Return facts of the same relation that give a wrong answer for this one.

        Left out: the same object, and objects that are true of the same subject elsewhere.
        """
        true = {
            other.object
            for other in self.by_relation[fact.relation.name]
            if other.subject == fact.subject and other.circumstance == fact.circumstance
        }
        found: dict[Any, Fact] = {}
        for other in self.by_relation[fact.relation.name]:
            if other.object not in true and other.subject != fact.subject:
                found.setdefault(other.object, other)
        return list(found.values())


def _class(kind: str) -> words.Noun:
    return words.noun(kind)
