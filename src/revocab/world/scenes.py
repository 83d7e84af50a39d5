"""Everyday sentences, with no fact to learn but the language itself; slots name pools of words.

A slot is drawn from the pool that its name, without digits, names (see :class:`Draw`).
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from revocab.world import grammar_en, grammar_it, lexicon, words
from revocab.world.names import Names

Pair = tuple[str, str]

SCENES: tuple[Pair, ...] = (
    ("{when} {p} ha comprato {un obj qual} al mercato di {t}.", "{when} {p} bought {a obj qual} at the market of {t}."),
    ("{p} ha regalato {un obj} a {q}.", "{p} gave {a obj} to {q}."),
    ("{il obj qual} {del fam} è {loc room}.", "{the obj qual} of {the fam} is {loc room}."),
    ("Sul tavolo ci sono {num} {obj.p} e {un obj2}.", "On the table there are {num} {obj.p} and {a obj2}."),
    ("{p} ha dimenticato {il obj} {sul furn}.", "{p} forgot {the obj} on {the furn}."),
    ("{hour} {p} ama {act.inf}.", "{hour} {p} loves to {act.inf}."),
    ("{when} {p} {act.past p}.", "{when} {p} {act.past}."),
    ("Da giovane {p} {act.impf} {often}.", "As a young person {p} used to {act.inf} {often}."),
    ("{soon} {p} e {q} {act.futpl}.", "{soon} {p} and {q} will {act.inf}."),
    ("Mentre {p} {act.impf}, {q} {act2.impf}.", "While {p} was {act.ing}, {q} was {act2.ing}."),
    ("{act.ger}, {p} pensava al mare.", "While {act.ing}, {p} was thinking of the sea."),
    ("Tutti dicono che {p} è {trait@p} e {trait2@p}.", "Everybody says that {p} is {trait} and {trait2}."),
    ("{when} {p} era molto {mood@p}.", "{when} {p} was very {mood}."),
    ("{p} è {mood@p} perché ha trovato {un obj}.", "{p} is {mood} because {he p} has found {a obj}."),
    ("{p} {rest.past p} con {q}.", "{p} {rest.past} with {q}."),
    ("{often} {p} {rest.pres}.", "{often} {p} {rest.s}."),
    ("{soon} {p} {rest.fut}.", "{soon} {p} will {rest.inf}."),
    ("{p} mangia {un food taste} e beve {il drink}.", "{p} eats {a food taste} and drinks {the drink}."),
    ("A colazione ci sono {i food} con {il pantry}.", "For breakfast there are {s food} with {pantry}."),
    ("{q} ha preparato {un food} con {i food2}.", "{q} has prepared {a food} with {thes food2}."),
    ("{i food} di {t} sono molto {taste@food.p}.", "{thes food} of {t} are very {taste}."),
    ("{nel land view} di {t} cresce {un plant}.", "In {the land view} of {t} grows {a plant}."),
    ("{dal land} si vede {un land2 view}.", "From {the land} one sees {a land2 view}."),
    ("Vicino {al land} c'è {un land2 view2}.", "Near {the land} there is {a land2 view2}."),
    ("A sud di {t} si trovano {i land view}.", "South of {t} lie {thes land view}."),
    ("{i plant} {del fam} sono {qual@plant.p}.", "{thes plant} of {the fam} are {qual}."),
    ("{quel plant} ha {num} anni.", "That {plant} is {num} years old."),
    ("Sotto {il plant} c'è {un furn qual}.", "Under {the plant} there is {a furn qual}."),
    ("{il pet} di {p} {does.pres}.", "{the pet} of {p} {does.s}."),
    ("{il pet} {does.pres} {often}.", "{the pet} {does.s} {often}."),
    ("{when} {i pet} {does.pastpl pet}.", "{when} {thes pet} {does.past}."),
    ("{p} ha {num} {pet.p} e {un pet2 colour}.", "{p} has {num} {pet.p} and {a pet2 colour}."),
    ("Oggi {ad t} {wthr}.", "Today in {t} {wthr}."),
    ("Mentre {wthr}, {p} resta {loc room}.", "While {wthr}, {p} stays {loc room}."),
    ("{p} vuole {verb.inf} {il obj qual}.", "{p} wants to {verb.inf} {the obj qual}."),
    ("{p} {verb.impf} sempre {i obj} {dei fam}.", "{p} always used to {verb.inf} {thes obj} of {thes fam}."),
    ("{soon} {il fam} {verb.fut} {un obj qual}.", "{soon} {the fam} will {verb.inf} {a obj qual}."),
    ("{p} non {verb.pres} mai {i obj qual}.", "{p} never {verb.s} {thes obj qual}."),
    ("{nei land view} si sente il vento.", "In {thes land view} one hears the wind."),
    ("{sui furn} {del fam} ci sono {num} {obj.p}.", "On {thes furn} of {the fam} there are {num} {obj.p}."),
    ("{p} lavora {how}, poi {rest.pres}.", "{p} works {how}, then {rest.s}."),
    ("{loc room} ci sono {un furn qual} e {num} {obj.p}.", "{loc room} there are {a furn qual} and {num} {obj.p}."),
    ("Il fiume {river} scorre {flow} verso il mare.", "The river {river} flows {flow} to the sea."),
    ("Dal monte {mount} si vedono {i land} di {t}.", "From Mount {mount} one sees {thes land} of {t}."),
    ("{p} e {q} camminano {how} verso {il land}.", "{p} and {q} walk {how} towards {the land}."),
    ("{dai land} arrivano {i fam} di {p}.", "From {thes land} come {thes fam} of {p}."),
    ("{suo obj} è {qual@obj}, dice {q}.", "{his q} {obj} is {qual}, says {q}."),
    ("{quei obj qual} sono di {p}.", "Those {s obj qual} belong to {p}."),
    ("Per {act.inf} ci vogliono {num} ore.", "It takes {num} hours to {act.inf}."),
    ("Prima di {act.inf}, {p} deve {act2.inf}.", "Before {act.ing}, {p} has to {act2.inf}."),
    ("{p} ha imparato ad amare {gen plant} di {t}.", "{p} has learned to love {gen plant} from {t}."),
    ("In casa {del fam} c'è odore di {pantry}.", "In the house of {the fam} there is a smell of {pantry}."),
    ("{i fam} di {q} {act.pl} {often}.", "{thes fam} of {q} {act.inf} {often}."),
    ("{when} {ad t} {i fam} {act.impfpl} insieme.", "{when} in {t} {thes fam} were {act.ing} together."),
)  # fmt: skip


class Draw(dict):
    """Slots that are drawn on first use from the pool of their name (``obj2`` from ``obj``)."""

    def __init__(
        self,
        choose: random.Random,
        names: Names,
        given: dict[str, Any] | None = None,
        *,
        full_names: bool = False,
    ):
        super().__init__(given or {})
        self._choose, self._names, self._full_names = choose, names, full_names

    def __missing__(self, key: str) -> Any:
        pool = key.rstrip("0123456789")
        value = self._draw(pool)
        taken = [other for name, other in self.items() if name.rstrip("0123456789") == pool]
        while value in taken:
            value = self._draw(pool)
        self[key] = value
        return value

    def _draw(self, pool: str) -> Any:
        choose, names = self._choose, self._names
        if pool in ("p", "q"):
            return names.person(choose, full=self._full_names)
        if pool == "t":
            return choose.choice(names.known if choose.random() < 0.3 else names.villages)
        if pool == "river":
            return choose.choice(names.rivers)
        if pool == "mount":
            return choose.choice(names.mountains)
        if pool == "fam":
            return choose.choice(pools()["fam"])[choose.choice("mf")]
        return choose.choice(pools()[pool])


@cache
def pools() -> dict[str, tuple]:
    """Return the pools of words by slot name."""
    nouns = {
        "obj": lexicon.OBJECTS, "food": lexicon.FOODS, "drink": lexicon.DRINKS, "pantry": lexicon.PANTRY,
        "room": lexicon.ROOMS, "furn": lexicon.FURNITURE, "land": lexicon.LANDSCAPE,
        "plant": lexicon.PLANTS, "pet": lexicon.ANIMALS,
    }  # fmt: skip
    adjectives = {
        "trait": lexicon.TRAITS, "mood": lexicon.MOODS, "qual": lexicon.QUALITIES,
        "view": lexicon.VIEWS, "colour": lexicon.COLOURS, "taste": lexicon.TASTES,
    }  # fmt: skip
    verbs = {
        "act": lexicon.ACTIONS, "rest": lexicon.REST, "verb": lexicon.HANDLING,
        "does": lexicon.ANIMAL_DOES,
    }  # fmt: skip
    texts = {
        "wthr": lexicon.WEATHER, "when": lexicon.WHEN, "often": lexicon.OFTEN,
        "soon": lexicon.SOON, "how": lexicon.HOW,
        "flow": lexicon.FLOW, "hour": lexicon.HOURS,
    }  # fmt: skip
    read = (
        (nouns, words.noun), (adjectives, words.adjective), (verbs, words.verb), (texts, words.text)
    )  # fmt: skip
    found = {name: words.table(block, reader) for group, reader in read for name, block in group.items()}
    found["act"] += words.table(lexicon.MORE_ACTIONS, words.verb)
    found["num"] = tuple(words.Text(grammar_it.number(n), grammar_en.number(n)) for n in range(2, 100))
    found["fam"] = words.table(lexicon.FAMILY, words.nouns_by_gender)
    return found
