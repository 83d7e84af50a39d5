"""Minimal pairs: a real sentence, and the same with two neighbouring words exchanged.

Both have the same words and characters. Some exchanges give another good sentence (Italian *bella
casa*, *casa bella*): no model reaches 100 %.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from revocab.evaluation.probes.kind import Item, ProbeKind, Round, is_plain, joined, split_sentences

#: Words of the sentence before those that are exchanged, and fewest after them.
BEFORE, AFTER = 3, 1


def rounds(texts: Sequence[str], language: str, draw: random.Random) -> Iterator[list[Round]]:
    """Yield one set: an item for every sentence that has two words to exchange."""
    exchanges: list[Round] = []
    for words in split_sentences(texts):
        places = [
            at
            for at in range(BEFORE, len(words) - AFTER - 1)
            if is_plain(words[at]) and is_plain(words[at + 1]) and words[at] != words[at + 1]
        ]
        if places:
            at = draw.choice(places)
            exchanged = [words[at + 1], words[at], *words[at + 2 :]]
            item = Item(joined(words[:at]), joined(words[at:]), (joined(exchanged),))
            exchanges.append((item,))
    yield exchanges


PROBE = ProbeKind(name="word_order", choices=2, together=1, rounds=rounds)
