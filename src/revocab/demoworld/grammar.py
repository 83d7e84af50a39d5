"""Noun phrases of both languages: articles, elision, articulated prepositions, plurals.

Templates reach a phrase's forms as attributes: ``"{place.nel}"``, ``"{tool.the_pl}"``.
"""

from __future__ import annotations

from dataclasses import dataclass

VOWELS = "aeiouàèéìòóù"
#: Beginnings that take lo/uno/gli: s + consonant, z, gn, ps, pn, x, y, i + vowel.
_LO_STARTS = ("z", "gn", "ps", "pn", "x", "y")
#: Stems of the articulated prepositions, before the article's own ending.
_STEMS = {"di": "de", "a": "a", "da": "da", "in": "ne", "su": "su"}


def takes_lo(word: str) -> bool:
    """Return whether a masculine word takes lo (singular) and gli (plural)."""
    low = word.lower()
    impure_s = low[0] == "s" and len(low) > 1 and low[1] not in VOWELS
    semivowel = low[0] == "i" and len(low) > 1 and low[1] in VOWELS
    return impure_s or semivowel or low.startswith(_LO_STARTS)


def definite_article(word: str, gender: str, plural: bool = False) -> str:
    """Return il/lo/la/l'/i/gli/le for an Italian word; l' carries no space."""
    vowel = word[0].lower() in VOWELS
    if plural:
        if gender == "f":
            return "le"
        return "gli" if vowel or takes_lo(word) else "i"
    if vowel and not takes_lo(word):
        return "l'"
    if gender == "f":
        return "la"
    return "lo" if takes_lo(word) else "il"


def indefinite_article(word: str, gender: str) -> str:
    """Return un/uno/una/un' for an Italian word; un' carries no space."""
    vowel = word[0].lower() in VOWELS
    if gender == "f":
        return "un'" if vowel else "una"
    return "uno" if takes_lo(word) else "un"


def articulated(preposition: str, article: str) -> str:
    """Return preposition and definite article in one word: di + il = del, in + gli = negli."""
    stem = _STEMS[preposition]
    if article == "il":
        return stem + "l"
    if article == "i":
        return stem + "i"
    if article == "gli":
        return stem + "gli"
    return stem + "l" + article  # lo, la, le, l' double the consonant: dello, nell'


def join(article: str, word: str) -> str:
    """Join article and word: an elided article takes no space."""
    return article + word if article.endswith("'") else f"{article} {word}"


def capitalised(text: str) -> str:
    """Return ``text`` with its first letter in upper case."""
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class Italian:
    """An Italian noun; ``plural`` empty for mass nouns."""

    word: str
    gender: str
    plural: str = ""

    def _preposed(self, preposition: str, plural: bool = False) -> str:
        word = self.plural if plural else self.word
        return join(articulated(preposition, definite_article(word, self.gender, plural)), word)

    @property
    def bare(self) -> str:
        """Return the noun alone."""
        return self.word

    @property
    def the(self) -> str:
        """Return il/lo/la/l' with the noun."""
        return join(definite_article(self.word, self.gender), self.word)

    @property
    def The(self) -> str:
        """Return :attr:`the` with a capital."""
        return capitalised(self.the)

    @property
    def a(self) -> str:
        """Return un/uno/una/un' with the noun."""
        return join(indefinite_article(self.word, self.gender), self.word)

    @property
    def A(self) -> str:
        """Return :attr:`a` with a capital."""
        return capitalised(self.a)

    @property
    def the_pl(self) -> str:
        """Return the plural with its article."""
        return f"{definite_article(self.plural, self.gender, True)} {self.plural}"

    @property
    def The_pl(self) -> str:
        """Return :attr:`the_pl` with a capital."""
        return capitalised(self.the_pl)

    @property
    def del_(self) -> str:
        """Return del/dello/della/dell' with the noun."""
        return self._preposed("di")

    @property
    def al(self) -> str:
        """Return al/allo/alla/all' with the noun."""
        return self._preposed("a")

    @property
    def dal(self) -> str:
        """Return dal/dallo/dalla/dall' with the noun."""
        return self._preposed("da")

    @property
    def nel(self) -> str:
        """Return nel/nello/nella/nell' with the noun."""
        return self._preposed("in")

    @property
    def sul(self) -> str:
        """Return sul/sullo/sulla/sull' with the noun."""
        return self._preposed("su")

    @property
    def dei_pl(self) -> str:
        """Return dei/degli/delle with the plural."""
        return self._preposed("di", plural=True)

    @property
    def o(self) -> str:
        """Return the ending of an adjective or participle in -o that agrees with the noun."""
        return "a" if self.gender == "f" else "o"


@dataclass(frozen=True)
class English:
    """An English noun; ``plural`` empty for mass nouns."""

    word: str
    plural: str = ""

    @property
    def bare(self) -> str:
        """Return the noun alone."""
        return self.word

    @property
    def the(self) -> str:
        """Return the noun with its definite article."""
        return f"the {self.word}"

    @property
    def The(self) -> str:
        """Return :attr:`the` with a capital."""
        return f"The {self.word}"

    @property
    def a(self) -> str:
        """Return the noun with a or an."""
        return f"{'an' if self.word[0].lower() in 'aeiou' else 'a'} {self.word}"

    @property
    def A(self) -> str:
        """Return :attr:`a` with a capital."""
        return capitalised(self.a)

    @property
    def pl(self) -> str:
        """Return the plural."""
        return self.plural

    @property
    def Pl(self) -> str:
        """Return the plural with a capital."""
        return capitalised(self.plural)


@dataclass(frozen=True)
class Noun:
    """One thing in both languages."""

    it: Italian
    en: English


def noun(text: str) -> Noun:
    """Read ``"forno m forni = oven/ovens"``; a plural of ``-``, or no slash, means a mass noun."""
    italian, _, english = text.partition("=")
    word, gender, plural = italian.split()
    one, _, many = english.strip().partition("/")
    return Noun(
        Italian(word.replace("_", " "), gender, "" if plural == "-" else plural.replace("_", " ")),
        English(one, many),
    )
