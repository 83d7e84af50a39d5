"""Where new tokens come from: learned on top of a vocabulary, or taken from another tokenizer.

Learned: Sennrich et al. 2016, algorithm 1, begun not at characters but at what the base makes of
each word. The merges learned come after the base's own, so at every step the words are exactly what
the grown vocabulary would make of them; therefore every new token's text is encoded as that token.
With several texts each merge is the most frequent of that text which costs most tokens: Foroutan et
al. 2025, Parity-Aware Byte-Pair Encoding, algorithm 1 (arXiv 2508.04796).

From a donor, its most frequent ones first: Cui et al. 2023 merge a second vocabulary into Llama's;
LEP's Extended and Optimized and Gosal et al.'s extend and replace do so too. Concatenating merge
lists leaves tokens that nothing produces: here each token is built from what the base makes of its
text, by merges after all others.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.vocabulary.building.editable import EditableVocabulary, Merge, merge_pieces
from revocab.vocabulary.building.training_text import CutPretokens, count_pretokens, cut_pretokens
from revocab.vocabulary.tokenizers.alphabets import to_byte_level
from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary


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
        longer = [index for index, word in enumerate(words.pieces) if len(word) > 1]
        self.words = [[self.numbers[piece] for piece in words.pieces[index]] for index in longer]
        self.weights = [words.counts[index] for index in longer]
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

    def best(self, minimum: int) -> Merge | None:
        """Return the most frequent pair, None if none is as frequent as ``minimum``."""
        while self.heap:
            negative, product, pair = self.heap[0]
            count = self.counts[pair]
            if count == -negative:
                left, right = (self.symbols[symbol] for symbol in pair)
                return (left, right) if count >= minimum else None
            heapq.heappop(self.heap)
            if count >= minimum:
                heapq.heappush(self.heap, (-count, product, pair))
        return None

    def apply(self, merge: Merge) -> int:
        """Join a pair wherever it stands; return how many pieces fewer there are."""
        left, right = (self.numbers.get(piece, -1) for piece in merge)
        pair = left, right
        joined = self.product(pair) if pair in self.places else None
        if joined is None:
            return 0
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

    def uses(self, wanted: Iterable[str]) -> Counter[str]:
        names = set(wanted)
        used: Counter[str] = Counter(dict.fromkeys(sorted(names), 0))
        for word, weight in zip(self.words, self.weights, strict=True):
            for symbol in word:
                if self.symbols[symbol] in names:
                    used[self.symbols[symbol]] += weight
        return used


@dataclass(frozen=True)
class LearningText:
    """The words of a text, and the size (bytes, sentences) that its tokens are divided by."""

    words: CutPretokens
    size: float = 1.0

    def tokens(self) -> int:
        return self.words.token_counts().total()


def learn(
    texts: Sequence[LearningText], wanted: int, allowed: Callable[[str], bool], minimum: int = 2
) -> Learned:
    """Return up to ``wanted`` new tokens: the most frequent pair of neighbours, again and again.

    Each is that of the text with the most tokens for its size, or of the next where that one has no
    more; all are cut by it. Pairs rarer than ``minimum`` in their text are left; equally frequent
    ones come in the order of their strings.
    """
    known: dict[str, bool] = {}

    def product(left: str, right: str) -> str | None:
        joined = left + right
        if joined not in known:
            known[joined] = allowed(joined)
        return joined if known[joined] else None

    pairs = [_Pairs(text.words, product) for text in texts]
    costs = [text.tokens() for text in texts]
    tokens: dict[str, None] = {}
    merges: list[Merge] = []
    while len(tokens) < wanted:
        costliest = sorted(range(len(texts)), key=lambda text: -costs[text] / texts[text].size)
        best = next((m for text in costliest if (m := pairs[text].best(minimum))), None)
        if best is None:
            break
        costs = [cost - each.apply(best) for cost, each in zip(costs, pairs, strict=True)]
        tokens["".join(best)] = None
        merges.append(best)
    return Learned(list(tokens), merges, sum((each.uses(tokens) for each in pairs), Counter()))


def savings(words: CutPretokens, merges: Sequence[Merge]) -> Iterator[int]:
    """Yield how many tokens fewer each merge makes of the words, after those before it.

    Merges that come after all others are performed one after the other in every word, so a
    vocabulary with the first of them makes as many tokens as there are after these.
    """
    known = set(merges)
    pairs = _Pairs(words, lambda left, right: left + right if (left, right) in known else None)
    yield from map(pairs.apply, merges)


def spelling_in(base: EditableVocabulary, data: bytes) -> str | None:
    """Return how ``base`` would spell a token for ``data``; None if it cannot have one: its text
    must stay in one piece of the base's word splitter.
    """
    splitter = base.base.backend_tokenizer.pre_tokenizer
    try:
        text = data.decode()
    except UnicodeDecodeError:  # part of a character: splitters work on whole ones
        return to_byte_level(data) if base.style == "byte_level" else None
    if base.style == "byte_level":
        spelling, visible = to_byte_level(data), text
    else:
        spelling = visible = text.replace(" ", "▁")
    if splitter is None:
        return spelling
    words = [word for word, _ in splitter.pre_tokenize_str(visible)]
    return spelling if words in ([spelling], ["▁" + spelling]) else None


def donor_candidates(
    base: EditableVocabulary,
    donor: PreTrainedTokenizerFast,
    texts: Iterable[str],
    allowed: Callable[[str], bool],
    top: int | None,
) -> Counter[str]:
    """Return the donor's usable tokens in the base's spelling, with counts, most frequent first.

    Frequency is that in ``texts`` as the donor encodes them. ``top`` looks at the donor's most
    frequent tokens only, before those that the base has are taken out. Equal counts: donor's order.
    """
    view = EditableVocabulary.read(donor, "donor")
    used = cut_pretokens(donor.backend_tokenizer, count_pretokens(view, texts)).token_counts()
    tokens = [token for token in canonical_vocabulary(donor) if token.kind != "special"]
    tokens = [
        token for token in tokens if token.string not in view.protected or len(token.data) > 1
    ]
    order = sorted(tokens, key=lambda token: (-used[token.string], view.ids[token.string]))
    taken: dict[str, int] = {}
    for token in order[:top]:
        spelling = spelling_in(base, token.data)
        if not spelling or spelling in taken:
            continue
        if allowed(spelling):
            taken[spelling] = used[token.string]
    return Counter(taken)


def cheapest_tree(pieces: list[str], cost: Callable[[list[str]], float]) -> list[Merge] | None:
    """Return merges, inner before outer, that make one token of ``pieces``: those whose steps cost
    least in all, None if that is infinite. A step is given by the pieces that it joins.
    """

    @cache
    def best(start: int, end: int) -> tuple[float, tuple[Merge, ...]]:
        if end - start == 1:
            return 0.0, ()
        own = 0.0 if end - start == len(pieces) else cost(pieces[start:end])

        def total(middle: int) -> float:
            return own + best(start, middle)[0] + best(middle, end)[0]

        middle = min(range(start + 1, end), key=total)
        pair = ("".join(pieces[start:middle]), "".join(pieces[middle:end]))
        return total(middle), (*best(start, middle)[1], *best(middle, end)[1], pair)

    least, merges = best(0, len(pieces))
    return None if math.isinf(least) else list(merges)


def take_bpe(
    base: EditableVocabulary,
    candidates: Iterable[str],
    wanted: int | None,
    allowed: Callable[[str], bool],
) -> tuple[list[str], list[Merge], list[str]]:
    """Return new tokens in order, their merges, and those of them that no candidate is.

    Candidates are taken in order; the tokens that one is made of are taken with it and count, and a
    candidate that no longer fits is passed over. ``wanted`` None takes all.
    """
    ordered = list(candidates)
    is_candidate = set(ordered).__contains__
    ranks = dict(base.ranks)
    tokens: dict[str, None] = {}
    merges: list[Merge] = []

    def cost(parts: list[str]) -> float:
        token = "".join(parts)
        if token not in tokens and not allowed(token):
            return math.inf
        return not is_candidate(token)

    for candidate in ordered:
        if candidate in tokens:
            continue
        pieces, _ = merge_pieces(candidate, ranks)
        tree = cheapest_tree(pieces, cost)
        if tree is None:
            continue
        new = [pair for pair in tree if pair not in ranks]
        additions = dict.fromkeys(joined for pair in new if (joined := "".join(pair)) not in tokens)
        if wanted is not None and len(tokens) + len(additions) > wanted:
            continue
        for pair in dict.fromkeys(new):
            ranks[pair] = len(ranks)
        # Repeated pieces may be joined elsewhere than the tree says; then the token stays out.
        if any(merge_pieces(token, ranks)[0] != [token] for token in additions):
            for pair in dict.fromkeys(new):
                del ranks[pair]
            continue
        merges += dict.fromkeys(new)
        tokens.update(additions)
        if wanted is not None and len(tokens) == wanted:
            break
    return list(tokens), merges, [token for token in tokens if not is_candidate(token)]
