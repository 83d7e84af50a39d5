"""The next word of a real sentence, among words that are about as frequent.

Words are ordered by frequency and cut into sets of four; the words of a set are each other's wrong
choices, and each is the right one equally often. So neither a word's frequency nor its length says
anything about the answer. A wrong word may fit by accident: no model reaches 100 %.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

from revocab.evaluation.probes.kind import Item, ProbeKind, Round, is_plain, joined, split_sentences

CHOICES = 4
#: Rarer words have too few places, and their frequency is chance.
FEWEST = 3
#: Words of the sentence that are given.
BEFORE = 5


def rounds(texts: Sequence[str], language: str, draw: random.Random) -> Iterator[list[Round]]:
    split = split_sentences(texts)
    counts = Counter(word for words in split for word in words if is_plain(word))
    common = sorted(word for word, count in counts.items() if count >= FEWEST)
    draw.shuffle(common)  # else words of one frequency would stand by the alphabet
    common.sort(key=lambda word: -counts[word])
    places: dict[str, list[str]] = {word: [] for word in common}
    for words in split:
        for at in range(BEFORE, len(words)):
            if words[at] in places:
                places[words[at]].append(joined(words[:at]))
    for first in range(0, len(common) - CHOICES + 1, CHOICES):
        choices = common[first : first + CHOICES]
        drawn = [draw.sample(places[word], len(places[word])) for word in choices]
        yield [
            tuple(
                Item(context, word, tuple(other for other in choices if other != word))
                for word, context in zip(choices, contexts, strict=True)
            )
            for contexts in zip(*drawn, strict=False)
        ]


PROBE = ProbeKind(name="next_word", choices=CHOICES, together=CHOICES, rounds=rounds)
