"""Bilingual words, and the one-line notation in which the lexicon writes them.

Nouns     ``mucca=cow``  ``pane m=bread*`` (mass)  ``uovo/uova:f=egg`` (irregular plural, its gender)
          ``porto=harbour@a:at`` (the preposition for "in": al porto, at the harbour);
          ``scuola=school@a0:at`` (without article: a scuola)
People    ``fornaio|fornaia=baker`` (both genders)
Adjective ``rosso=red``  ``<grande=big`` (before its noun in Italian)  ``rosa!=pink`` (invariable)
Verbs     ``tagliare il legno=cut the wood`` (first word inflected)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from revocab.world import grammar_en as en
from revocab.world import grammar_it as it
from revocab.world import verbs_it


@dataclass(frozen=True)
class Noun:
    """A noun in both languages; ``generic_*`` is its number when one speaks of the kind."""

    it: str
    it_plural: str
    gender: str
    gender_plural: str
    en: str
    en_plural: str
    mass: bool = False
    place_it: str = "in"
    place_en: str = "in"

    @property
    def generic(self) -> str:
        """``"s"`` for a mass noun, else ``"p"``: (il) pane, (le) mele; bread, apples."""
        return "s" if self.mass else "p"

    def in_number(self, number: str) -> tuple[str, str]:
        """Return the Italian word and its gender in a number."""
        if number == "s":
            return self.it, self.gender
        return self.it_plural, self.gender_plural


@dataclass(frozen=True)
class Name:
    """A proper name, the same in both languages (a town, a river, a region)."""

    it: str
    gender: str = "f"

    @property
    def en(self) -> str:
        """The English form: the same."""
        return self.it


@dataclass(frozen=True)
class Person(Name):
    """A person: ``it`` is the name in use, ``first`` the first name."""

    first: str = ""


@dataclass(frozen=True)
class Adjective:
    """An adjective; ``before`` says that Italian puts it before the noun."""

    it: str
    en: str
    before: bool = False


@dataclass(frozen=True)
class Text:
    """Fixed text in both languages (an adverb, a number in words)."""

    it: str
    en: str


@dataclass(frozen=True)
class Verb:
    """A verb phrase: infinitive and what follows it."""

    it_verb: str
    it_rest: str
    en_verb: str
    en_rest: str

    @property
    def it(self) -> str:
        """The Italian infinitive phrase."""
        return self.it_verb + self.it_rest

    @property
    def en(self) -> str:
        """The English base form."""
        return self.en_verb + self.en_rest

    def in_italian(self, form: str, gender: str = "m", number: str = "s") -> str:
        """Return the phrase in a form: inf, pres, pl, impf, impfpl, fut, ger, past, pastpl."""
        verb = self.it_verb
        head = {
            "inf": lambda: verb,
            "pres": lambda: verbs_it.present(verb),
            "pl": lambda: verbs_it.present(verb, "p"),
            "impf": lambda: verbs_it.imperfect(verb),
            "impfpl": lambda: verbs_it.imperfect(verb, "p"),
            "fut": lambda: verbs_it.future(verb),
            "futpl": lambda: verbs_it.future(verb, "p"),
            "ger": lambda: verbs_it.gerund(verb),
            "past": lambda: verbs_it.past(verb, gender, number),
            "pastpl": lambda: verbs_it.past(verb, gender, "p"),
        }[form]()
        return head + self.it_rest

    def in_english(self, form: str) -> str:
        """Return the phrase in a form: inf, s, past, ing, pp."""
        head = {
            "inf": lambda verb: verb,
            "s": en.third_person,
            "past": en.past,
            "ing": en.gerund,
            "pp": en.past_participle,
        }[form](self.en_verb)
        return head + self.en_rest


@cache
def noun(entry: str) -> Noun:
    """Read a noun from its notation."""
    italian, english = entry.strip().split("=")
    english, _, place = english.partition("@")
    place_it, _, place_en = (place or "in:in").partition(":")
    mass = english.endswith("*")
    english, _, english_plural = english.rstrip("*").partition("/")
    italian, gender = _split_gender(italian)
    singular, _, plural = italian.partition("/")
    plural, _, gender_plural = plural.partition(":")
    gender = gender or _gender_of(singular)
    return Noun(
        it=singular,
        it_plural=plural or it.plural(singular, gender),
        gender=gender,
        gender_plural=gender_plural or gender,
        en=english,
        en_plural=english_plural or en.plural(english),
        mass=mass,
        place_it=place_it,
        place_en=place_en,
    )


def _split_gender(italian: str) -> tuple[str, str]:
    for gender in ("m", "f"):
        if italian.endswith(" " + gender):
            return italian[:-2], gender
    return italian, ""


def _gender_of(singular: str) -> str:
    last = singular.split()[0][-1]
    if last == "o":
        return "m"
    if last in "aà":
        return "f"
    raise ValueError(f"{singular!r}: write the gender, ' m' or ' f'")


@cache
def nouns_by_gender(entry: str) -> dict[str, Noun]:
    """Read a job: ``fornaio|fornaia=baker``; one noun for each gender of person."""
    italian, english = entry.strip().split("=")
    male, _, female = italian.partition("|")
    man, _, woman = english.partition("|")
    return {
        "m": noun(f"{male} m={man}"),
        "f": noun(f"{female or male} f={woman or man}"),
    }


@cache
def adjective(entry: str) -> Adjective:
    """Read an adjective from its notation."""
    italian, english = entry.strip().split("=")
    return Adjective(italian.lstrip("<"), english, italian.startswith("<"))


@cache
def verb(entry: str) -> Verb:
    """Read a verb phrase from its notation."""
    italian, english = entry.strip().split("=")
    it_verb, space, it_rest = italian.partition(" ")
    en_verb, en_space, en_rest = english.partition(" ")
    return Verb(it_verb, space + it_rest, en_verb, en_space + en_rest)


@cache
def text(entry: str) -> Text:
    """Read fixed text: ``oggi=today``."""
    italian, english = entry.strip().split("=")
    return Text(italian, english)


def table(block: str, read) -> tuple:
    """Read every entry of a block: entries are separated by commas or line ends."""
    entries = (entry.strip() for line in block.splitlines() for entry in line.split(","))
    return tuple(read(entry) for entry in entries if entry)
