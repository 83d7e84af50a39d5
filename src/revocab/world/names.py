"""Invented names, composed of syllables: people, towns, rivers, regions. Same in both languages."""

from __future__ import annotations

import random

from revocab.world.words import Name, Person

#: Openings that end in a vowel take any ending; after a consonant only single consonants follow.
OPENINGS = """
Al An Ar Bal Bar Bel Ber Cal Car Cor Dal Dar Der Dor El Er Fal Fer Gal Gar Gor Lan Lor Lam Mal Mar
Mel Mer Mil Mon Mor Nal Nar Ner Nor Or Pal Par Per Pon Ral Ren Ros Sal San Ser Sil Sol Tal Tan Ter
Tor Tul Ul Val Ver Vil Vol Zan Zel Bri Cla Cre Dra Fla Fio Gra Gio Ghe Che Pra Tre Tri Bra Lu Ro Se
"""
MIDDLES = """
ba be bi bo ca co da de di do fa fi ga ghe go la le li lo ma me mi mo na ne ni no pa pe pi ra re ri
ro sa se si so ta te ti to va ve vi vo za zi
"""
FEMALE = "na lia tta ra ssa lda nza mina rella sia nella dia"
MALE = "no lio tto ro sso ldo nzo mino rello sio nello dio"
SURNAME = "ni tti lli ri ssi ldi nti schi rini zzi gni lone rese cchi doni telli"
TOWN = "no sso llo na lla rba sca lto nza mpo rno vento monte valle borgo mare"
RIVER = "ro no so lio gno ra na mo vo la"
REGION = "nia lia ria sca gna tia"
#: Places and people that exist, or words: not invented.
TAKEN = """
Maria Marina Roma Torino Milano Salerno Verona Merano Cadore Marino Carlo Mario Gallia Italia
Marta Silvia Lazio Toscana Carnia Verdi Rosso Rossi Romagna Bologna Sardegna Spagna Gorizia
Albania Armenia Germania Persia Serbia Brescia Venezia Catania Rovigo Berlino Dora Sarno Arno Adda
Montevideo Belmonte Piemonte Salomone Corsica Pescara Ferrara Novara Ancona Terni Verna Roma
"""
GROUP_WORDS = "lb lc ld lf lg lm lp ls lt lv lz nc nd nf ng ns nt nv nz mb mp"
GROUPS = frozenset(GROUP_WORDS.split()) | {
    "r" + letter for letter in "bcdfglmnpstvz"
}


class NameMaker:
    """Draws names that never repeat; deterministic for a seed."""

    def __init__(self, seed: int):
        self._random = random.Random(f"{seed}/names")
        self._taken = set(TAKEN.split())

    def draw(self, endings: str, middles: tuple[int, ...] = (0, 1)) -> str:
        """Return a new name: an opening, ``middles`` syllables, one of the ``endings``."""
        choose = self._random.choice
        for _ in range(100_000):
            parts = [choose(OPENINGS.split())]
            parts += [choose(MIDDLES.split()) for _ in range(choose(middles))]
            parts.append(choose(endings.split()))
            name = "".join(parts).replace("nb", "mb").replace("np", "mp")
            if name not in self._taken and _pronounceable(parts) and 4 <= len(name) <= 11:
                self._taken.add(name)
                return name
        raise AssertionError("no names left: add syllables")

    def many(self, count: int, endings: str, middles: tuple[int, ...] = (0, 1)) -> list[str]:
        """Return ``count`` new names."""
        return [self.draw(endings, middles) for _ in range(count)]


def _pronounceable(parts: list[str]) -> bool:
    """Return whether syllables meet as in Italian words, and none comes twice in a row."""
    for left, right in zip(parts, parts[1:], strict=False):
        meeting = (left[-1] + right[0]).lower().replace("nb", "mb").replace("np", "mp")
        if left[-1] not in "aeiou" and (right[1] not in "aeiou" or meeting not in GROUPS):
            return False
        if left[-2:].lower() == right[:2]:
            return False
    return True


class Names:
    """All the names of one world.

    ``people`` combine ``female`` or ``male`` first names with ``surnames``; ``known`` towns have
    facts (region, river, product), ``villages`` have none.
    """

    def __init__(self, seed: int):
        maker = NameMaker(seed)
        self.female = maker.many(60, FEMALE)
        self.male = maker.many(60, MALE)
        self.surnames = maker.many(160, SURNAME)
        self.known = tuple(Name(name) for name in maker.many(16, TOWN))
        self.villages = tuple(Name(name) for name in maker.many(60, TOWN, (1,)))
        self.rivers = tuple(Name(name, "m") for name in maker.many(8, RIVER))
        self.regions = tuple(Name(name) for name in maker.many(6, REGION, (1,)))
        self.mountains = tuple(Name(name, "m") for name in maker.many(20, RIVER, (1,)))

    def person(self, choose: random.Random, *, full: bool = False) -> Person:
        """Return a person, called by the first name or, with ``full``, by the full name."""
        gender = choose.choice("mf")
        first = choose.choice(self.female if gender == "f" else self.male)
        if not full:
            return Person(first, gender, first)
        return Person(f"{first} {choose.choice(self.surnames)}", gender, first)
