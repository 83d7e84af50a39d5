"""Invented people, families, towns and rivers, made of syllables: a large, stable inventory."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

_STARTS = [
    "Bar", "Bel", "Cal", "Dar", "Del", "Fal", "Fer", "Gal", "Lan", "Lor", "Mal", "Mar", "Mel",
    "Nar", "Nor", "Pal", "Per", "Ral", "Sal", "Ser", "Tal", "Ter", "Val", "Ver", "Vol",
]  # fmt: skip
_MIDDLES = ["a", "e", "i", "o", "u", "al", "el", "il", "ol"]
_FEMALE = ["da", "la", "lia", "ma", "na", "nia", "ra", "ria", "sa", "ssa", "ta", "tta"]
_MALE = ["do", "lo", "lio", "mo", "no", "nio", "ro", "rio", "so", "sso", "to", "tto"]
_FAMILY = [
    "belli", "cini", "dotti", "falli", "gatti", "landi", "monti", "nardi", "pelli", "relli",
    "santi", "telli", "venti", "zani",
]  # fmt: skip
_TOWN_STARTS = [
    "Borgo", "Campo", "Castel", "Civita", "Colle", "Fonte", "Monte", "Pieve", "Ponte", "Porto",
    "Riva", "Rocca", "Torre", "Villa",
]  # fmt: skip
_TOWN_ENDS = [
    "bella", "bruna", "chiara", "dolce", "franca", "grande", "lunga", "marina", "nera", "nova",
    "pura", "rossa", "secca", "verde", "vecchia",
]  # fmt: skip
_TOWN_MORE = ["lba", "lgo", "mara", "nte", "rda", "rico", "stra", "tina", "vero", "zza"]
RIVERS = [
    "Adra", "Brenna", "Calda", "Dolva", "Erra", "Frisa", "Gorna", "Ilva", "Lorda", "Mera",
    "Nerva", "Orba", "Panta", "Resca",
]  # fmt: skip


@dataclass(frozen=True)
class Person:
    """Someone: a name, a family name, and the grammar that goes with them."""

    name: str
    family: str
    female: bool

    @property
    def full(self) -> str:
        return f"{self.name} {self.family}"

    @property
    def o(self) -> str:
        """The Italian ending that agrees: nat-o, nat-a."""
        return "a" if self.female else "o"

    @property
    def he(self) -> str:
        return "she" if self.female else "he"


def _distinct(make: Callable[[], str], count: int) -> list[str]:
    values: dict[str, None] = {}
    while len(values) < count:
        values[make()] = None
    return list(values)


def _name(draw: random.Random, endings: list[str]) -> str:
    return draw.choice(_STARTS) + draw.choice(_MIDDLES) + draw.choice(endings)


def people(seed: int) -> list[Person]:
    draw = random.Random(f"people-{seed}")
    women, men, families = (
        _distinct(partial(_name, draw, endings), number)
        for endings, number in ((_FEMALE, 400), (_MALE, 400), (_FAMILY, 420))
    )
    return [
        Person(name, draw.choice(families), female)
        for pair in zip(women, men, strict=False)
        for name, female in zip(pair, (True, False), strict=True)
    ]


def towns(seed: int) -> list[str]:
    draw = random.Random(f"towns-{seed}")
    ends = _TOWN_ENDS + [a + b for a in ("a", "e", "i", "o") for b in _TOWN_MORE]

    def town() -> str:
        start, end = draw.choice(_TOWN_STARTS), draw.choice(ends)
        return (start[:-1] if end[0] in "aeio" else start) + end

    return _distinct(town, 200)
