"""Noun phrases of both languages: articles, elision, articulated prepositions.

Templates reach a phrase's forms as attributes: ``"{place.nel}"``, ``"{tool.The}"``.
"""

from __future__ import annotations

from dataclasses import dataclass

VOWELS = "aeiouàèéìòóù"
#: Beginnings that take lo/uno: s + consonant, z, gn, ps, pn, x, y, i + vowel.
_LO_STARTS = ("z", "gn", "ps", "pn", "x", "y")
#: Stems of the articulated prepositions, before the article's own ending.
_STEMS = {"di": "de", "a": "a", "in": "ne"}


def takes_lo(word: str) -> bool:
    low = word.lower()
    impure_s = low[0] == "s" and len(low) > 1 and low[1] not in VOWELS
    semivowel = low[0] == "i" and len(low) > 1 and low[1] in VOWELS
    return impure_s or semivowel or low.startswith(_LO_STARTS)


def definite_article(word: str, gender: str) -> str:
    """Return il/lo/la/l' for an Italian word; l' carries no space."""
    if word[0].lower() in VOWELS and not takes_lo(word):
        return "l'"
    if gender == "f":
        return "la"
    return "lo" if takes_lo(word) else "il"


def join(article: str, word: str) -> str:
    return article + word if article.endswith("'") else f"{article} {word}"


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


class Phrases:
    """Forms of a word as attributes; with a capital (``The``), the form beginning in upper case."""

    def __getattr__(self, name: str) -> str:
        if not name[:1].isupper():
            raise AttributeError(name)
        return capitalised(getattr(self, name.lower()))


@dataclass(frozen=True)
class Italian(Phrases):
    """An Italian noun."""

    word: str
    gender: str

    def _preposed(self, preposition: str) -> str:
        """Return preposition and definite article in one word: di + il = del, in + lo = nello."""
        article = definite_article(self.word, self.gender)
        ending = "" if article == "il" else article  # lo, la, l' double the consonant
        return join(f"{_STEMS[preposition]}l{ending}", self.word)

    @property
    def the(self) -> str:
        return join(definite_article(self.word, self.gender), self.word)

    @property
    def a(self) -> str:
        if self.gender == "f":
            return join("un'" if self.word[0].lower() in VOWELS else "una", self.word)
        return join("uno" if takes_lo(self.word) else "un", self.word)

    @property
    def of(self) -> str:
        return f"d'{self.word}" if self.word[0] in VOWELS else f"di {self.word}"

    @property
    def del_(self) -> str:
        return self._preposed("di")

    @property
    def al(self) -> str:
        return self._preposed("a")

    @property
    def nel(self) -> str:
        return self._preposed("in")


@dataclass(frozen=True)
class English(Phrases):
    """An English noun."""

    word: str

    @property
    def the(self) -> str:
        return f"the {self.word}"

    @property
    def a(self) -> str:
        return f"{'an' if self.word[0].lower() in 'aeiou' else 'a'} {self.word}"

    @property
    def of(self) -> str:
        return f"of {self.word}"


@dataclass(frozen=True)
class Noun:
    """One thing in both languages."""

    it: Italian
    en: English


def noun(text: str) -> Noun:
    """Read ``"forno m = oven"``; an underscore in the Italian stands for a space."""
    italian, _, english = text.partition("=")
    word, gender = italian.split()
    return Noun(Italian(word.replace("_", " "), gender), English(english.strip()))
