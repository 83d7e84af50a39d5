"""Invented names, composed of syllables: people, towns, rivers, regions. Same in both languages."""

from __future__ import annotations

import random

from revocab.world.words import Name, Person

OPENINGS = "Al An Ar Bel Ber Bran Cal Car Cor Dal Der Dor El Er Fal Fer Fio Gal Gio Gor Lan Lor Lu".split()
OPENINGS += "Mal Mar Mel Mir Mon Nal Ner Nor Or Pal Per Pra Ral Ren Ros Sal San Ser Sil Tal Ter".split()
OPENINGS += "Tor Tul Ul Val Ver Vil Vol Zan Zel Bri Cla Cre Dra Fla Gra Tre Ghi Che".split()
MIDDLES = "ba be bi bo ca co da de di do fa fi ga ghe go la le li lo ma me mi mo na ne ni no".split()
MIDDLES += "pa pe pi ra re ri ro sa se si so ta te ti to va ve vi vo za zi gna glia chi".split()
FEMALE = "na lia tta ra ssa lda nza mina rella sia".split()
MALE = "no lio tto ro sso ldo nzo mino rello sio".split()
SURNAME = "ni tti lli ri ssi ldi nti schi rini zzi gni lone rese cchi".split()
TOWN = "no sso llo na lla rba sca lto nza mpo rno vento monte valle borgo".split()
RIVER = "ro no rso lio gno ra na mo vo".split()
REGION = "nia lia ria sca gna tia".split()
TAKEN = frozenset("Maria Marina Roma Torino Milano Salerno Verona Merano Cadore".split())


class NameMaker:
    """Draws names that never repeat; deterministic for a seed."""

    def __init__(self, seed: int):
        self._random = random.Random(f"{seed}/names")
        self._taken = set(TAKEN)

    def draw(self, endings: list[str], middles: tuple[int, ...] = (0, 1)) -> str:
        """Return a new name: an opening, ``middles`` syllables, an ending."""
        choose = self._random.choice
        for _ in range(10_000):
            count = choose(middles)
            name = choose(OPENINGS) + "".join(choose(MIDDLES) for _ in range(count))
            name += choose(endings)
            if name not in self._taken and _pronounceable(name):
                self._taken.add(name)
                return name
        raise AssertionError("no names left: add syllables")

    def many(self, count: int, endings: list[str], middles: tuple[int, ...] = (0, 1)) -> list[str]:
        """Return ``count`` new names."""
        return [self.draw(endings, middles) for _ in range(count)]


def _pronounceable(name: str) -> bool:
    lower = name.lower()
    consonants = run = 0
    for letter in lower:
        run = 0 if letter in "aeiou" else run + 1
        consonants = max(consonants, run)
    return consonants <= 3 and 4 <= len(name) <= 10 and not any(3 * v in lower for v in "aeiou")


class Names:
    """All the names of one world.

    ``people`` combine ``female`` or ``male`` first names with ``surnames``; ``known`` towns have
    facts (region, river, product), ``villages`` have none.
    """

    def __init__(self, seed: int):
        maker = NameMaker(seed)
        self.female = maker.many(90, FEMALE)
        self.male = maker.many(90, MALE)
        self.surnames = maker.many(220, SURNAME)
        self.known = tuple(Name(name) for name in maker.many(30, TOWN))
        self.villages = tuple(Name(name) for name in maker.many(90, TOWN, (1,)))
        self.rivers = tuple(Name(name, "m") for name in maker.many(12, RIVER, (0,)))
        self.regions = tuple(Name(name) for name in maker.many(8, REGION, (1,)))
        self.mountains = tuple(Name(name, "m") for name in maker.many(20, RIVER, (1,)))

    def person(self, choose: random.Random) -> Person:
        """Return a person with full name and gender."""
        gender = choose.choice("mf")
        first = choose.choice(self.female if gender == "f" else self.male)
        return Person(f"{first} {choose.choice(self.surnames)}", gender, first)
