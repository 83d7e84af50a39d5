"""A passage that names several people or places, up to where one of them is named again.

The choices are names of the passage, each of which stands there once. Over the items of a round
the right one is that named first, second, third and last, so that how long ago a name was given
says nothing.

A name is a word that begins with a capital inside a sentence and is written small nowhere in the
text, so that a language without capitals has none.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

from revocab.evaluation.probes.kind import Item, ProbeKind, Round, joined

CHOICES = 4
#: Words of the passage, and fewest letters of a name.
WINDOW, SHORTEST = 150, 3
STOPS = tuple(".!?…:;\"'»”’)")


def core(word: str) -> str:
    return word.strip("".join(STOPS) + ",«“‘([-–—")


def names(documents: Sequence[Sequence[str]]) -> set[str]:
    capitalised: set[str] = set()
    small: set[str] = set()
    for words in documents:
        for before, word in zip([".", *words], words, strict=False):
            bare = core(word)
            if not bare.isalpha() or len(bare) < SHORTEST:
                continue
            if bare == bare.lower():
                small.add(bare)
            elif bare[1:] == bare[1:].lower() and not before.endswith(STOPS):
                capitalised.add(bare)
    return {name for name in capitalised if name.lower() not in small}


def rounds(texts: Sequence[str], language: str, draw: random.Random) -> Iterator[list[Round]]:
    documents = [text.split() for text in texts]
    known = names(documents)
    by_place: list[list[Item]] = [[] for _ in range(CHOICES)]
    for words in documents:
        cores = [core(word) for word in words]
        for at in range(1, len(words)):
            if cores[at] in known and cores[at - 1] not in known:
                candidate = item(words, cores, at, known, draw)
                if candidate is not None:
                    by_place[candidate[0]].append(candidate[1])
    drawn = [draw.sample(items, len(items)) for items in by_place]
    yield list(zip(*drawn, strict=False))


def item(
    words: Sequence[str], cores: Sequence[str], at: int, known: set[str], draw: random.Random
) -> tuple[int, Item] | None:
    """Return an item whose answer is the name at a place of a document, and the answer's place
    among its choices in the order of the passage; None where the passage gives none.
    """
    right, first = cores[at], max(0, at - WINDOW)
    counts = Counter(name for name in cores[first:at] if name in known)
    once = [name for name in counts if counts[name] == 1 and name != right]
    if counts[right] != 1 or len(once) < CHOICES - 1 or not words[at].startswith(right):
        return None
    wrong = draw.sample(once, CHOICES - 1)
    place = [name for name in counts if name in (right, *wrong)].index(right)
    return place, Item(joined(words[first:at]), right, tuple(wrong))


PROBE = ProbeKind(name="repeated_name", choices=CHOICES, together=CHOICES, rounds=rounds)
