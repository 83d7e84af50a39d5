"""Learn new tokens on top of a vocabulary: byte-pair encoding that starts from its own pieces.

Sennrich et al. 2016, algorithm 1, begun not at characters but at what the base makes of each word.
The merges learned come after the base's own, so at every step the words are exactly what the grown
vocabulary would make of them; therefore the text of every new token is encoded as that token.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from revocab.vocabulary.building.editable import Merge
from revocab.vocabulary.building.pretokens import CutPretokens


@dataclass(frozen=True)
class Learned:
    """New tokens in the order learned, the merge of each, and how often each is used at the end."""

    tokens: list[str]
    merges: list[Merge]
    uses: Counter[str]


class _Pairs:
    """Counts of neighbouring pieces over all words, kept up to date."""

    def __init__(self, words: CutPretokens, product: Callable[[str, str], str | None]):
        self.symbols: list[str] = sorted({piece for word in words.pieces for piece in word})
        #: Two pairs may give one symbol (under Unigram, not under BPE).
        self.numbers = {symbol: index for index, symbol in enumerate(self.symbols)}
        kept = [index for index, word in enumerate(words.pieces) if len(word) > 1]
        self.words = [[self.numbers[piece] for piece in words.pieces[index]] for index in kept]
        self.weights = [words.counts[index] for index in kept]
        self.counts: Counter[tuple[int, int]] = Counter()
        self.places: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        self._product = product
        self._products: dict[tuple[int, int], str | None] = {}
        for index in range(len(self.words)):
            self._count(index, 1)
        self.heap = [entry for pair in self.counts if (entry := self._entry(pair))]
        heapq.heapify(self.heap)

    def product(self, pair: tuple[int, int]) -> str | None:
        if pair not in self._products:
            left, right = pair
            self._products[pair] = self._product(self.symbols[left], self.symbols[right])
        return self._products[pair]

    def _entry(self, pair: tuple[int, int]) -> tuple[int, str, tuple[int, int]] | None:
        product = self.product(pair)
        return None if product is None else (-self.counts[pair], product, pair)

    def _count(self, index: int, sign: int) -> set[tuple[int, int]]:
        word, weight = self.words[index], sign * self.weights[index]
        pairs = set()
        for pair in pairwise(word):
            if self.product(pair) is not None:
                self.counts[pair] += weight
                pairs.add(pair)
                if sign > 0:
                    self.places[pair].add(index)
        return pairs

    def best(self, minimum: int) -> tuple[int, int] | None:
        """Return the most frequent pair, None if none is as frequent as ``minimum``."""
        while self.heap:
            negative, product, pair = self.heap[0]
            count = self.counts[pair]
            if count == -negative:
                return pair if count >= minimum else None
            heapq.heappop(self.heap)
            if count >= minimum:
                heapq.heappush(self.heap, (-count, product, pair))
        return None

    def merge(self, pair: tuple[int, int]) -> int:
        """Join a pair wherever it stands; return how many pieces fewer there are."""
        joined = self.product(pair)
        assert joined is not None  # else it is no pair of the heap
        new = self.numbers.setdefault(joined, len(self.symbols))
        if new == len(self.symbols):
            self.symbols.append(joined)
        changed: set[tuple[int, int]] = set()
        saved = 0
        for index in self.places.pop(pair):
            word = self.words[index]
            self._count(index, -1)
            merged, place = [], 0
            while place < len(word):
                if place + 1 < len(word) and (word[place], word[place + 1]) == pair:
                    merged.append(new)
                    place += 2
                else:
                    merged.append(word[place])
                    place += 1
            saved += (len(word) - len(merged)) * self.weights[index]
            self.words[index] = merged
            changed |= self._count(index, 1)
        for each in changed:
            if entry := self._entry(each):
                heapq.heappush(self.heap, entry)
        self.counts.pop(pair, None)
        return saved

    def apply(self, merge: Merge) -> int:
        left, right = (self.numbers.get(piece, -1) for piece in merge)
        return self.merge((left, right)) if (left, right) in self.places else 0

    def uses(self, wanted: Iterable[str]) -> Counter[str]:
        names = set(wanted)
        used: Counter[str] = Counter(dict.fromkeys(sorted(names), 0))
        for word, weight in zip(self.words, self.weights, strict=True):
            for symbol in word:
                if self.symbols[symbol] in names:
                    used[self.symbols[symbol]] += weight
        return used


def learn(
    words: CutPretokens, wanted: int, allowed: Callable[[str], bool], minimum: int = 2
) -> Learned:
    """Return up to ``wanted`` new tokens: the most frequent pair of neighbours, again and again.

    Pairs rarer than ``minimum`` are left; equally frequent ones come in the order of their strings.
    """
    known: dict[str, bool] = {}

    def product(left: str, right: str) -> str | None:
        joined = left + right
        if joined not in known:
            known[joined] = allowed(joined)
        return joined if known[joined] else None

    pairs = _Pairs(words, product)
    tokens: dict[str, None] = {}
    merges: list[Merge] = []
    while len(tokens) < wanted:
        pair = pairs.best(minimum)
        if pair is None:
            break
        left, right = (pairs.symbols[symbol] for symbol in pair)
        pairs.merge(pair)
        tokens[left + right] = None
        merges.append((left, right))
    return Learned(list(tokens), merges, pairs.uses(tokens))


def savings(words: CutPretokens, merges: Sequence[Merge]) -> Iterator[int]:
    """Yield how many tokens fewer each merge makes of the words, after those before it.

    Merges that come after all others are performed one after the other in every word, so a
    vocabulary with the first of them makes as many tokens as there are after these.
    """
    known = set(merges)
    pairs = _Pairs(words, lambda left, right: left + right if (left, right) in known else None)
    yield from map(pairs.apply, merges)
