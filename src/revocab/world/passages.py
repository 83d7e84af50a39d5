"""Passages with questions whose answer is a piece of the passage (the SQuAD-like sets)."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from revocab.world.names import Names
from revocab.world.scenes import Draw
from revocab.world.template import render
from revocab.world.words import Text

Pair = tuple[str, str]


@dataclass(frozen=True)
class Passage:
    """``title`` and ``text`` templates, and (question, answer) pairs about it."""

    title: Pair
    text: Pair
    asked: tuple[tuple[Pair, Pair], ...]


PASSAGES = (
    Passage(
        ("{p}", "{p}"),
        ("{p} è nat{p.o} {ad t} nel {year}. Da giovane ha vissuto vicino al fiume {river}, poi è andat{p.o} {ad t2}. Nella sua casa ci sono {num} {pet.p} e {un obj qual}, un regalo di {q}.",
         "{p} was born in {t} in {year}. As a young person {he p} lived near the river {river}, then {he p} went to {t2}. In {his p} house there are {num} {pet.p} and {a obj qual}, a present from {q}."),
        (
            (("Dove è nat{p.o} {p}?", "Where was {p} born?"), ("{t}", "{t}")),
            (("In che anno è nat{p.o} {p}?", "In what year was {p} born?"), ("{year}", "{year}")),
            (("Vicino a quale fiume ha vissuto {p}?", "Near which river did {p} live?"), ("{river}", "{river}")),
            (("Dove è andat{p.o} poi {p}?", "Where did {p} go then?"), ("{t2}", "{t2}")),
            (("Quanti animali ci sono nella casa di {p}?", "How many animals are there in the house of {p}?"), ("{num} {pet.p}", "{num} {pet.p}")),
            (("Chi ha fatto un regalo a {p}?", "Who gave {p} a present?"), ("{q}", "{q}")),
        ),
    ),
    Passage(
        ("Il mercato di {t}", "The market of {t}"),
        ("{when} {p} è andat{p.o} al mercato di {t} con {q}. Ha comprato {un obj qual} per {num} monete e {un food} per il pranzo. La sera {p.first} ha dato tutto a {p2}.",
         "{when} {p} went to the market of {t} with {q}. {he p} bought {a obj qual} for {num} coins and {a food} for the lunch. In the evening {p.first} gave everything to {p2}."),
        (
            (("In quale città ha fatto la spesa {p}?", "In which town did {p} go shopping?"), ("{t}", "{t}")),
            (("Con chi è andat{p.o} al mercato {p}?", "With whom did {p} go to the market?"), ("{q}", "{q}")),
            (("Che cosa ha comprato {p} per {num} monete?", "What did {p} buy for {num} coins?"), ("{un obj qual}", "{a obj qual}")),
            (("Che cosa ha comprato {p} per il pranzo?", "What did {p} buy for the lunch?"), ("{un food}", "{a food}")),
            (("A chi ha dato tutto {p.first}?", "To whom did {p.first} give everything?"), ("{p2}", "{p2}")),
        ),
    ),
    Passage(
        ("Il castello di {t}", "The castle of {t}"),
        ("Il castello di {t} fu costruito nel {year} da {p}. Ha {num} torri e si trova sul monte {mount}. Nel {year2} lo comprò {q}, che vi abita ancora con {un pet colour}.",
         "The castle of {t} was built in {year} by {p}. It has {num} towers and stands on Mount {mount}. In {year2} it was bought by {q}, who still lives there with {a pet colour}."),
        (
            (("Chi costruì il castello di {t}?", "Who built the castle of {t}?"), ("{p}", "{p}")),
            (("In che anno fu costruito il castello di {t}?", "In what year was the castle of {t} built?"), ("{year}", "{year}")),
            (("Quante torri ha il castello di {t}?", "How many towers does the castle of {t} have?"), ("{num} torri", "{num} towers")),
            (("Su quale monte si trova il castello di {t}?", "On which mountain does the castle of {t} stand?"), ("{mount}", "{mount}")),
            (("Chi comprò il castello di {t} nel {year2}?", "Who bought the castle of {t} in {year2}?"), ("{q}", "{q}")),
        ),
    ),
    Passage(
        ("Il viaggio di {p}", "The journey of {p}"),
        ("{p} voleva andare da {t} {ad t2}. Il viaggio è durato {num} ore e la strada passava sul ponte del fiume {river}. Nella valigia c'erano {num2} {obj.p}. All'arrivo c'era {q} con {un food}.",
         "{p} wanted to go from {t} to {t2}. The journey took {num} hours and the road went over the bridge of the river {river}. In the suitcase there were {num2} {obj.p}. At the arrival there was {q} with {a food}."),
        (
            (("Da dove partiva {p}?", "From where did {p} leave?"), ("{t}", "{t}")),
            (("Dove voleva andare {p}?", "Where did {p} want to go?"), ("{t2}", "{t2}")),
            (("Quanto è durato il viaggio di {p}?", "How long did the journey of {p} take?"), ("{num} ore", "{num} hours")),
            (("Che cosa c'era nella valigia di {p}?", "What was in the suitcase of {p}?"), ("{num2} {obj.p}", "{num2} {obj.p}")),
            (("Chi c'era all'arrivo di {p}?", "Who was there at the arrival of {p}?"), ("{q}", "{q}")),
        ),
    ),
    Passage(
        ("La festa di {t}", "The feast of {t}"),
        ("La festa di {t} si tiene ogni anno vicino {al land view}. La inventò {p} nel {year}. Si mangiano {i food} con {il pantry}, e chi vince la gara riceve {un obj}. L'ultima volta ha vinto {q}.",
         "The feast of {t} takes place every year near {the land view}. It was invented by {p} in {year}. People eat {s food} with {pantry}, and whoever wins the contest gets {a obj}. The last time {q} won."),
        (
            (("Chi inventò la festa di {t}?", "Who invented the feast of {t}?"), ("{p}", "{p}")),
            (("In che anno fu inventata la festa di {t}?", "In what year was the feast of {t} invented?"), ("{year}", "{year}")),
            (("Che cosa si mangia alla festa di {t}?", "What do people eat at the feast of {t}?"), ("{i food}", "{s food}")),
            (("Che cosa riceve chi vince la gara {ad t}?", "What does the winner of the contest in {t} get?"), ("{un obj}", "{a obj}")),
            (("Chi ha vinto l'ultima gara {ad t}?", "Who won the last contest in {t}?"), ("{q}", "{q}")),
        ),
    ),
)  # fmt: skip


def draw_passage(choose: random.Random, names: Names) -> tuple[Passage, Draw]:
    """Return a passage and the words that fill it."""
    first, second = sorted(choose.sample(range(1602, 1999), 2))
    slots = Draw(choose, names, {"year": _year(first), "year2": _year(second)}, full_names=True)
    return choose.choice(PASSAGES), slots


def _year(number: int) -> Text:
    return Text(str(number), str(number))


def passage_rows(passage: Passage, slots: Draw, language: str) -> list[dict[str, Any]]:
    """Return one row for each question: title, context, question, answers."""
    side = language == "en"
    context = render(passage.text[side], language, slots)
    title = render(passage.title[side], language, slots)
    return [
        {
            "title": title,
            "context": context,
            "question": render(question[side], language, slots),
            "answers": [render(answer[side], language, slots, capital=False)],
        }
        for question, answer in passage.asked
    ]
