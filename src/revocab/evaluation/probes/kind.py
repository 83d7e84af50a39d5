"""What a kind of probe is, and the registry of those in ``kinds/``.

A probe is a multiple-choice task made by rule from text that no model was trained on: what comes
next in a real sentence is right, and what the rule puts in its place is wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from pydantic import Field

from revocab.closed import Closed, Id, look_up
from revocab.corpora.sentences import sentences
from revocab.limits import Generated
from revocab.registry import found_in

#: The rows, in a probe's folder.
ITEMS = "items.jsonl.gz"


@dataclass(frozen=True)
class Item:
    """One item: the text before, how it goes on, and how it does not."""

    context: str
    right: str
    wrong: tuple[str, ...]


#: Items that belong together: over all of them each choice is right equally often, so that a model
#: that likes one word more than another, whatever the context, is right by chance.
Round = tuple[Item, ...]


class ProbeOptions(Closed):
    """Which items are made, and how many."""

    kind: Id = Field(description="such as next_word; a wrong one lists them all")
    number: Generated = Field(description="items; whole rounds of the kind")


@dataclass(frozen=True, kw_only=True)
class ProbeKind:
    """A kind of probe: one file in ``kinds/`` with one object ``PROBE``."""

    name: str
    #: Choices of every item, of which one is right: blind guessing is right once in so many.
    choices: int
    #: Items of a round.
    together: int
    #: From documents and their language to sets of rounds, which are drawn from in turn.
    rounds: Callable[[Sequence[str], str, random.Random], Iterable[list[Round]]]
    #: Languages that have what it needs; None: any.
    languages: Callable[[], list[str]] | None = None

    def problems(self, options: ProbeOptions, language: str) -> list[str]:
        """Return what cannot be: a number that is no whole rounds, a language without words."""
        problems = []
        whole = options.number - options.number % self.together
        if options.number % self.together:
            problems.append(
                f"number: {options.number} is not a multiple of {self.together}, the items of a"
                f" round of {self.name!r}; choose {max(whole, self.together)}"
            )
        known = self.languages() if self.languages else [language]
        if language not in known:
            problems.append(
                f"kind: {self.name!r} has no words in {language!r} (languages that have them: "
                f"{', '.join(known)}); add them to src/revocab/languages/{language}.yaml"
            )
        return problems


@cache
def probe_kinds() -> dict[str, ProbeKind]:
    from revocab.evaluation.probes import kinds as package

    return found_in(package, "PROBE")


def find_probe(name: str) -> ProbeKind:
    return look_up("kind", name, probe_kinds(), "kind of probe")


def split_sentences(texts: Iterable[str]) -> list[list[str]]:
    """Return the words, separated by whitespace, of every sentence; none spans two lines."""
    lines = [line for text in texts for line in text.splitlines()]
    return [sentence.split() for line in lines for sentence in sentences(line)]


def is_plain(word: str) -> bool:
    """Return whether a word is letters alone, none of them a capital: no name, no punctuation."""
    return word.isalpha() and word == word.lower()


def joined(words: Sequence[str]) -> str:
    return " ".join(words)
