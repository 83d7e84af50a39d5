"""Minimal pairs: a real sentence, and the same with one word of another number or gender.

The words that are exchanged stand in pairs in the language's file: ``agreement: [[is, are], …]``.
Of every pair each word is the right one equally often, so that the more frequent one is no answer.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from revocab.evaluation.probes.kind import Item, ProbeKind, Round, joined, split_sentences
from revocab.languages import languages

#: Words of the sentence before the one that is exchanged, and fewest after it.
BEFORE, AFTER = 2, 2


def spoken() -> list[str]:
    return [name for name, file in languages().items() if file.agreement]


def rounds(texts: Sequence[str], language: str, draw: random.Random) -> Iterator[list[Round]]:
    pairs = languages()[language].agreement
    others = {word: other for pair in pairs for word, other in (pair, pair[::-1])}
    places: dict[str, list[Item]] = {word: [] for word in others}
    for words in split_sentences(texts):
        for at in range(BEFORE, len(words) - AFTER):
            word = words[at]
            if word in others:
                wrong = joined([others[word], *words[at + 1 :]])
                places[word].append(Item(joined(words[:at]), joined(words[at:]), (wrong,)))
    for pair in pairs:
        drawn = [draw.sample(places[word], len(places[word])) for word in pair]
        yield list(zip(*drawn, strict=False))


PROBE = ProbeKind(name="agreement", choices=2, together=2, rounds=rounds, languages=spoken)
