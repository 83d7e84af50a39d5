"""How llama.cpp cuts a text into tokens, computed here: what a GGUF says to choose each way.

SentencePiece's way (``llama``) merges whichever neighbours make the token with the best score. It
knows no merges, yet it cuts as a list of merges does if each token's score is minus the rank of
the merge that makes it from its own text. For BPE inside a stretch of text that ends as one token
goes through the same merges as in any other text, so that neighbours which together spell a token
are always those of its last merge. What breaks this is a token that its own text does not give but
as two others, and a splitter that treats the same neighbours otherwise elsewhere.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from revocab.product.export.vocabulary import Vocabulary
from revocab.vocabulary.tokenizers.alphabets import (
    MARKER,
    NUMBERS,
    Digits,
    Whitespace,
    byte_level_words,
    marked_words,
)
from revocab.vocabulary.tokenizers.splitter import LLAMA_CPP_SPLITTERS, LlamaSplitter

DIGITS: tuple[Digits, ...] = ("individual", "none")
SPACES: tuple[Whitespace, ...] = ("grouped", "single")
#: Splitters of ``▁`` vocabularies that cut between the same neighbours in any text, so that merges
#: alone keep the words apart (but for a space between spaces and a word: :func:`scores_of`).
WITHOUT_CONTEXT: frozenset[tuple[str, ...]] = frozenset(
    [(), ("<Metaspace>",), ("<Split ' '>",)]
    + [(marked_words(digits, spaces),) for digits in DIGITS for spaces in SPACES]
)
#: Splitters that differ from one of llama.cpp's in runs of white space alone.
SINGLE_SPACES: dict[tuple[str, ...], tuple[str, ...]] = {
    (byte_level_words(digits, "single"),): (byte_level_words(digits),) for digits in NUMBERS
}


@dataclass(frozen=True)
class Cutter:
    """One way: what a GGUF says for it, and what it gives for text without added tokens."""

    name: str
    #: Keys of a GGUF below ``tokenizer.ggml``.
    keys: dict[str, Any]
    cut_pieces: Callable[[list[str]], list[list[int]]] = field(repr=False)
    #: By id; for SentencePiece's way only.
    scores: list[float] | None = None
    merges: bool = False
    #: What it cuts otherwise without any line that shows it.
    notes: tuple[str, ...] = ()

    def cut(self, texts: Sequence[str], added: dict[str, int]) -> list[list[int]]:
        """Return the ids of texts, in which added tokens are recognised, the longest ones first."""
        longest_first = sorted(filter(None, added), key=lambda token: -len(token.encode()))
        by_first: dict[str, list[tuple[int, str]]] = {}  # Gemma adds 6,000, of few first characters
        for place, token in enumerate(longest_first):
            by_first.setdefault(token[0], []).append((place, token))
        parts = [partition(text, added, by_first) for text in texts]
        pieces = [part for text in parts for part in text if isinstance(part, str)]
        ids = iter(self.cut_pieces(pieces))
        return [
            [token for part in text for token in ([part] if isinstance(part, int) else next(ids))]
            for text in parts
        ]


def partition(
    text: str, added: dict[str, int], by_first: dict[str, list[tuple[int, str]]]
) -> list[str | int]:
    parts: list[str | int] = [text] if text else []
    near = chain.from_iterable(by_first[first] for first in {*text} & by_first.keys())
    for _, token in sorted(entry for entry in near if entry[1] in text):
        parts = [part for whole in parts for part in apart(whole, token, added[token])]
    return parts


def apart(part: str | int, token: str, number: int) -> Iterator[str | int]:
    if isinstance(part, int):
        yield part
        return
    for place, between in enumerate(part.split(token)):
        if place:
            yield number
        if between:
            yield between


def scored_merges(text: str, scores: dict[str, float]) -> Iterator[str]:
    """Yield the tokens of a text that merges by score leave; of equal scores the left one first."""
    pieces: list[str] = list(text)
    before, after = [*range(-1, len(pieces) - 1)], [*range(1, len(pieces)), -1]
    queue: list[tuple[float, int, int, str]] = []

    def look(left: int, right: int) -> None:
        if left >= 0 and right >= 0:
            score = scores.get(pieces[left] + pieces[right])
            if score is not None:
                heapq.heappush(queue, (-score, left, right, pieces[left] + pieces[right]))

    for place in range(len(pieces) - 1):
        look(place, place + 1)
    while queue:
        _, left, right, made = heapq.heappop(queue)
        if pieces[left] and pieces[right] and pieces[left] + pieces[right] == made:
            pieces[left], pieces[right] = made, ""
            after[left] = after[right]
            if after[right] >= 0:
                before[after[right]] = left
            look(before[left], left)
            look(left, after[left])
    yield from filter(None, pieces)


def by_score(vocabulary: Vocabulary) -> Cutter:
    """Return SentencePiece's way, which llama.cpp has had from its beginning."""
    scores = scores_of(vocabulary)
    ids, space = vocabulary.plain.ids, vocabulary.space_before
    by_token = {token: scores[number] for token, number in ids.items()}

    def cut_pieces(texts: list[str]) -> list[list[int]]:
        return [
            [
                number
                for token in scored_merges((" " * space + text).replace(" ", MARKER), by_token)
                for number in spelt(token, ids)
            ]
            for text in texts
        ]

    spaces = any(len(token) > 1 and not token.strip(MARKER) for token in vocabulary.tokens)
    notes = ("several spaces before a character that joins no space",)
    return Cutter(
        "llama",
        {"model": "llama", "pre": "default", "add_space_prefix": space},
        cut_pieces,
        scores=scores,
        notes=notes if spaces and vocabulary.splitter else (),
    )


def scores_of(vocabulary: Vocabulary) -> list[float]:
    """Return a score for each token: minus the rank of the merge that makes it.

    Tokens of spaces alone come after all others if a splitter keeps the last space for the word
    that follows; tokens that no merge makes come last.
    """
    plain = vocabulary.plain
    worst = 2 * len(plain.merges) + 1
    scores = []
    for number, token in enumerate(vocabulary.tokens):
        parents = plain.parents(token)
        if len(token) < 2 or number in vocabulary.added or vocabulary.kinds[number] == "byte":
            scores.append(0.0)
        elif parents is None:
            scores.append(float(-worst))
        else:
            late = bool(vocabulary.splitter) and not token.strip(MARKER)
            scores.append(float(-plain.ranks[parents] - len(plain.merges) * late))
    return scores


def spelt(token: str, ids: dict[str, int]) -> list[int]:
    return [ids[token]] if token in ids else [ids[f"<0x{byte:02X}>"] for byte in token.encode()]


def by_merges(vocabulary: Vocabulary) -> Cutter:
    """Return the way of Gemma 4 and Sarvam, of the newest versions: merges over whole lines."""
    from tokenizers import Regex, normalizers, pre_tokenizers

    model = bare_bpe(vocabulary, byte_fallback=True)
    model.normalizer = normalizers.Replace(" ", MARKER)
    model.pre_tokenizer = pre_tokenizers.Split(Regex(r"\n+"), "isolated")
    first, _ = vocabulary.frame()  # Gemma 4's always puts one there
    keys = {"model": "gemma4"} if first else {"model": "gpt2", "pre": "sarvam-moe"}
    name = "gemma4" if first else "sarvam-moe"
    return Cutter(name, keys, partial(all_ids, model), merges=True)


def by_words(vocabulary: Vocabulary, splitter: LlamaSplitter) -> Cutter:
    model = bare_bpe(vocabulary, ignore_merges=splitter.takes_words)
    model.pre_tokenizer = splitter.pre_tokenizer()
    keys = {"model": "gpt2", "pre": splitter.name}
    return Cutter(splitter.name, keys, partial(all_ids, model), merges=True)


def bare_bpe(vocabulary: Vocabulary, **options: bool) -> Any:
    from tokenizers import Tokenizer, models

    return Tokenizer(models.BPE(vocabulary.plain.ids, [*vocabulary.plain.merges], **options))


def all_ids(model: Any, texts: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in model.encode_batch_fast(texts)]


def cutters_for(vocabulary: Vocabulary) -> tuple[list[Cutter], bool]:
    """Return the ways to try, best known first, and whether they have the vocabulary's splitter."""
    if not vocabulary.byte_level:
        ways = [by_score(vocabulary)]
        known = vocabulary.splitter in WITHOUT_CONTEXT
        return (ways if vocabulary.space_before else [*ways, by_merges(vocabulary)]), known
    splitter = vocabulary.splitter
    texts = (vocabulary.plain.text(token).decode(errors="replace") for token in vocabulary.tokens)
    joins_spaces = any(character.isspace() for text in texts for character in text[1:])
    if not joins_spaces:
        splitter = SINGLE_SPACES.get(splitter, splitter)
    same = [known for known in LLAMA_CPP_SPLITTERS if known.patterns == splitter]
    cleans = bool(vocabulary.tokenizer.clean_up_tokenization_spaces)
    rows = sorted(same or LLAMA_CPP_SPLITTERS, key=lambda known: known.cleans_spaces != cleans)
    return [by_words(vocabulary, known) for known in rows], bool(same)
