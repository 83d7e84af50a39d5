"""Sentences with slots: ``{il animal}``, ``{un tool adj}``, ``{act.past}``, ``{adj@p}``, ``{his p}``.

Italian slots
    ``{key}`` the word; ``{key.p}`` its plural
    ``{il|un|quel|suo|del|al|dal|nel|sul key [adjective]}`` singular, with determiner
    ``{i|quei|suoi|dei|ai|dai|nei|sui key [adjective]}`` plural
    ``{gen key}`` ``{delgen key}`` with the article, in the number of the kind (il pane, le mele)
    ``{loc key}`` the place where: nella cucina, al porto; ``{ad key}`` ``{ed key}`` a/ad, e/ed
    ``{adjective@key}`` agreement (``@key.p`` plural); ``{key.o}`` the ending -o or -a of a participle
    ``{verb.inf|pres|pl|impf|impfpl|fut|futpl|ger}``; ``{verb.past key}`` agreeing with a noun
English slots
    ``{key}``, ``{key.p}``; ``{a|the key [adjective]}``, ``{thes|s key [adjective]}`` plural with/without the
    ``{gen key}`` bread, apples; ``{loc key}`` in the kitchen; ``{to key}``; ``{he|him|his key}`` by gender
    ``{verb.inf|s|past|ing|pp}``; ``{adjective@key}``
The first letter of every sentence becomes a capital, where asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from revocab.world import grammar_en as en
from revocab.world import grammar_it as it

Slots = Mapping[str, Any]
Part = str | Callable[[Slots], str]

SLOT = re.compile(r"\{([^{}]+)\}")
SINGULAR = ("il", "un", "quel", "suo", "del", "al", "dal", "nel", "sul")
PLURAL = {
    "i": "il", "quei": "quel", "suoi": "suo", "dei": "del", "ai": "al", "dai": "dal",
    "nei": "nel", "sui": "sul",
}  # fmt: skip
PLACE = {"in": "nel", "a": "al", "su": "sul", "da": "dal"}
PRONOUNS = {"he": ("he", "she"), "him": ("him", "her"), "his": ("his", "her")}
ENDS = (". ", "? ", "! ", "\n", ".\n", "« ", "“")


def render(template: str, language: str, slots: Slots, *, capital: bool = True) -> str:
    """Return the sentence of a template in ``it`` or ``en``; ``KeyError`` names a missing slot."""
    return "".join(
        part if isinstance(part, str) else part(slots)
        for part in _parts(template, language, capital)
    )


@lru_cache(maxsize=None)
def _parts(template: str, language: str, capital: bool) -> tuple[Part, ...]:
    build = _italian if language == "it" else _english
    parts: list[Part] = []
    before, position = ". " if capital else "", 0
    for match in SLOT.finditer(template):
        literal = template[position : match.start()]
        parts.append(_upper(literal) if before == ". " and literal else literal)
        before = literal or before
        part = build(match.group(1).split())
        parts.append(_capitalised(part) if before.endswith(ENDS) else part)
        before, position = "", match.end()
    tail = template[position:]
    parts.append(_upper(tail) if before == ". " else tail)
    return tuple(part for part in parts if part)


def _upper(string: str) -> str:
    return string[:1].upper() + string[1:]


def _capitalised(part: Callable[[Slots], str]) -> Callable[[Slots], str]:
    return lambda slots: _upper(part(slots))


def _italian(words: list[str]) -> Callable[[Slots], str]:
    if len(words) == 1:
        return _italian_word(words[0])
    form, key, *rest = words
    if form in ("ad", "ed"):
        return lambda slots: _with_d(form[0], slots[key].it)
    if form == "loc":
        return lambda slots: _place(slots[key])
    if form in ("gen", "delgen"):
        determiner = "il" if form == "gen" else "del"
        return lambda slots: _noun_phrase(determiner, slots[key].generic, slots[key], None)
    if "." in form:
        verb, tense = form.split(".")
        return lambda slots: slots[verb].in_italian(tense, slots[key].gender)
    number = "p" if form in PLURAL else "s"
    determiner = PLURAL.get(form, form)
    if determiner not in SINGULAR:
        raise KeyError(f"unknown determiner {form!r}")
    if not rest:
        return lambda slots: _noun_phrase(determiner, number, slots[key], None)
    return lambda slots: _noun_phrase(determiner, number, slots[key], slots[rest[0]])


def _place(noun: Any) -> str:
    if noun.place_it.endswith("0"):
        return f"{noun.place_it[:-1]} {noun.it}"
    return it.phrase(PLACE[noun.place_it], noun.it, noun.gender)


def _with_d(word: str, following: str) -> str:
    return f"{it.euphonic(word, following)} {following}"


def _noun_phrase(determiner: str, number: str, noun: Any, adjective: Any) -> str:
    word, gender = noun.in_number(number)
    if adjective is None:
        return it.phrase(determiner, word, gender, number)
    inflected = it.inflect(adjective.it, gender, number)
    if not adjective.before:
        return it.phrase(determiner, f"{word} {inflected}", gender, number)
    if adjective.it == "bello":
        inflected = it.bello(word, gender, number)
        return it.phrase(determiner, it.join(inflected, word), gender, number)
    return it.phrase(determiner, word, gender, number, before=inflected)


def _italian_word(token: str) -> Callable[[Slots], str]:
    if "@" in token:
        adjective, target = token.split("@")
        key, _, number = target.partition(".")
        return lambda slots: _agree(slots[adjective], slots[key], number)
    key, _, form = token.partition(".")
    if not form:
        return lambda slots: slots[key].it
    if form == "p":
        return lambda slots: slots[key].it_plural
    if form == "first":
        return lambda slots: slots[key].first
    if form == "o":
        return lambda slots: "o" if slots[key].gender == "m" else "a"
    return lambda slots: slots[key].in_italian(form)


def _agree(adjective: Any, target: Any, number: str) -> str:
    if number == "gen":
        number = target.generic
    gender = target.in_number("p")[1] if number == "p" else target.gender
    return it.inflect(adjective.it, gender, number or "s")


def _english(words: list[str]) -> Callable[[Slots], str]:
    if len(words) == 1:
        return _english_word(words[0])
    form, key, *rest = words
    if form in PRONOUNS:
        return lambda slots: PRONOUNS[form][slots[key].gender == "f"]
    if form == "gen":
        return lambda slots: slots[key].en if slots[key].mass else slots[key].en_plural
    if form == "loc":
        return lambda slots: f"{slots[key].place_en} the {slots[key].en}"
    if form == "to":
        return lambda slots: f"to the {slots[key].en}"
    if form not in ("a", "the", "thes", "s", "bare"):
        raise KeyError(f"unknown determiner {form!r}")
    adjective = rest[0] if rest else None

    def phrase(slots: Slots) -> str:
        noun = slots[key]
        words = noun.en_plural if form in ("thes", "s") else noun.en
        if adjective:
            words = f"{slots[adjective].en} {words}"
        if form == "a":
            return f"{en.article(words)} {words}"
        return f"the {words}" if form in ("the", "thes") else words

    return phrase


def _english_word(token: str) -> Callable[[Slots], str]:
    if "@" in token:
        adjective = token.split("@")[0]
        return lambda slots: slots[adjective].en
    key, _, form = token.partition(".")
    if not form:
        return lambda slots: slots[key].en
    if form == "p":
        return lambda slots: slots[key].en_plural
    if form == "first":
        return lambda slots: slots[key].first
    return lambda slots: slots[key].in_english(form)
