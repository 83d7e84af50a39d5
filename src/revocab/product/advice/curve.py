"""How many tokens a text costs with vocabularies of other sizes, measured on a sample of it."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Literal

from revocab.corpora.prepare import heldout_documents
from revocab.errors import RevocabError
from revocab.languages import frequent_words, language_label
from revocab.progress import Say, silent
from revocab.vocabulary.building.constructions.extend import number_kept, tokens_dropped
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.building.expansion import (
    Expansion,
    ExpansionCorpus,
    check_reach,
    learn_tokens,
    new_characters,
)
from revocab.vocabulary.building.new_tokens import savings
from revocab.vocabulary.building.training_text import count_pretokens, cut_pretokens
from revocab.vocabulary.token_counts import count_tokens, cut_text
from revocab.vocabulary.tokenizers.alphabets import ALPHABET_SHARE

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


#: Bytes of a text that are looked at, and of these the share (and the most bytes) to measure on.
SAMPLE_BYTES = 40_000_000
HELDOUT_SHARE, HELDOUT_BYTES = 0.1, 4_000_000
#: Of a document its beginning counts, up to this share of the sample.
LONGEST = 0.01
#: Less than this tells nothing of a language.
LEAST_BYTES, LEAST_DOCUMENTS = 50_000, 10
#: Words whose language is looked at; the share that is frequent in a language's own text at least,
#: and in no other language's text.
WORDS = 50_000
OWN_FREQUENT, OTHERS_FREQUENT = 0.1, 0.25


@dataclass(frozen=True)
class Sample:
    """Documents to learn from and, disjoint from them, documents to measure on."""

    training: tuple[str, ...]
    heldout: tuple[str, ...]


def sample_text(name: str, texts: Iterable[str], language: str, limit_bytes: int) -> Sample:
    """Return a sample of at most ``limit_bytes``, in which no document stands twice.

    Those of the smallest hashes are taken, the smallest of them to measure on, so that the sample
    depends on the set of documents, not on their order. Memory holds the sample. Raises
    :class:`RevocabError` for text that is too little, or in another ``language``.
    """
    longest = max(1, int(limit_bytes * LONGEST))
    #: The largest hash first.
    heap: list[tuple[int, bytes]] = []
    sampled: set[int] = set()
    size = of_bytes = of_documents = 0
    for text in texts:
        if not text.strip():
            continue
        data = text.encode()
        of_bytes += len(data)
        of_documents += 1
        digest = -int.from_bytes(blake2b(data, digest_size=16, key=bytes(8)).digest())
        if digest in sampled:
            continue
        data = data[:longest].decode(errors="ignore").encode()
        heapq.heappush(heap, (digest, data))
        sampled.add(digest)
        size += len(data)
        while size > limit_bytes:
            digest, data = heapq.heappop(heap)
            sampled.remove(digest)
            size -= len(data)
    if size < LEAST_BYTES or len(heap) < LEAST_DOCUMENTS:
        raise RevocabError(
            f"{name}: {of_documents:,} documents of {of_bytes:,} bytes, {len(heap):,} of them"
            f" different; at least {LEAST_DOCUMENTS} and {LEAST_BYTES:,} bytes are needed to"
            " estimate what other vocabularies save; give more text, with an empty line between"
            " documents"
        )
    heap.sort(reverse=True)
    documents = [data.decode() for _, data in heap]
    check_language(name, documents, language)
    wanted = int(min(HELDOUT_BYTES, size * HELDOUT_SHARE))
    hashes = [(-digest).to_bytes(16) for digest, _ in heap]
    aside = len(heldout_documents(hashes, [len(data) for _, data in heap], wanted))
    return Sample(tuple(documents[aside:]), tuple(documents[:aside]))


def check_language(name: str, documents: Sequence[str], language: str) -> None:
    """Raise :class:`RevocabError` for text that is in another language than it is said to be.

    Told by the words that the texts of a language are full of (``revocab/languages``); nothing is
    told of languages whose file has none and that share few with those that do.
    """
    words, counts = frequent_words(documents, WORDS)
    if not words:
        raise RevocabError(f"{name}: no words in the text; give text with words")
    shares = {known: count / words for known, count in counts.items()}
    if not shares:
        return
    likely = max(shares, key=lambda known: shares[known])
    own = shares.get(language)
    named = f"{name}: given as {language_label(language)} ({language}), but"
    if likely != language and shares[likely] >= OTHERS_FREQUENT:
        raise RevocabError(
            f"{named} {shares[likely]:.0%} of its words are frequent words of"
            f" {language_label(likely)}; give other text, or name it {likely}"
        )
    if own is not None and own < OWN_FREQUENT:
        raise RevocabError(
            f"{named} only {own:.0%} of its words are frequent words of that language; give running"
            " text in it, or name the language that it is in"
        )


#: Numbers of new tokens that a curve has, unless others are asked for.
SIZES = (1000, 2000, 4000, 8000, 16000, 32000)
Construction = Literal["extend", "optimise"]
#: Share of the base's tokens that `optimise` keeps.
KEEP = 0.5
#: What 1,000 new tokens must save of the source's tokens.
KNEE_SHARE = 0.005


@dataclass(frozen=True)
class CurvePoint:
    """The held-out text's tokens with so many new tokens in a vocabulary of that size."""

    added: int
    tokens: int
    vocabulary: int


@dataclass(frozen=True)
class Curve:
    """Tokens of one held-out text against the size of the vocabulary."""

    construction: Construction
    #: The base: its size, how many of its tokens are kept, its tokens of the held-out text.
    source_vocabulary: int
    kept: int
    source_tokens: int
    #: With nothing added: the source's, or what is left of it after tokens were dropped.
    bare_tokens: int
    points: tuple[CurvePoint, ...]
    #: The same sizes, learned from half of the training text; those that it reaches.
    half: tuple[CurvePoint, ...]
    #: New tokens at the knee (:func:`find_knee`); 0 where no size pays.
    knee: int
    #: How many new tokens the training text gives, where that is fewer than were asked for.
    most: int | None
    training_bytes: int
    heldout_bytes: int
    heldout_characters: int

    def saving(self, point: CurvePoint) -> float:
        """Return the share of the source's tokens that a point saves; negative where it adds."""
        return 1 - point.tokens / self.source_tokens


def find_knee(bare_tokens: int, source_tokens: int, points: Iterable[CurvePoint]) -> int:
    """Return the last size up to which each step saves enough for what it adds.

    Enough is :data:`KNEE_SHARE` of the source's tokens by 1,000 new tokens, a step what lies
    between two sizes of the curve, the first from nothing added. 0 where the first does not.
    """
    knee, tokens = 0, bare_tokens
    for point in points:
        thousands = (point.added - knee) / 1000
        if tokens - point.tokens < KNEE_SHARE * source_tokens * thousands:
            break
        knee, tokens = point.added, point.tokens
    return knee


def draw_curve(
    construction: Construction,
    tokenizer: PreTrainedTokenizerFast,
    training: Sequence[str],
    heldout: Sequence[str],
    sizes: Sequence[int],
    say: Say = silent,
    keep: float = KEEP,
    *,
    half: bool = True,
) -> Curve:
    """Return the curve of a construction with ``sizes`` new tokens, ascending.

    ``optimise`` keeps of the base what the training text uses most, as many as ``keep`` says. Only
    with ``half`` are the sizes learned from half of the text, too.
    """
    base = EditableVocabulary.read(tokenizer)

    def measured(
        words: Counter[str], sizes: Sequence[int]
    ) -> tuple[EditableVocabulary, list[CurvePoint], int]:
        """Return what is added to, the points of the sizes that the words give, and their most."""
        vocabulary, dropped = base, list[str]()
        if construction == "optimise":
            counts = cut_pretokens(tokenizer.backend_tokenizer, words).token_counts()
            dropped = tokens_dropped(base, number_kept(keep, len(base)), counts)
            vocabulary = base.without(dropped).renumbered()
        corpus, points, reached = ExpansionCorpus([], {}, words), list[CurvePoint](), 0
        for run in nested_runs(vocabulary, corpus, sizes):
            say(f"{construction}: {run[-1]:,} new tokens from {len(words):,} different words")
            grown = learn_tokens(vocabulary, corpus, run[-1], frozenset(dropped))
            check_reach(grown)
            reached = len(grown.tokens)
            count = _tokens_of(vocabulary, grown, heldout)
            fitting = (size for size in run if size <= reached)
            points += [CurvePoint(n, count(n), len(vocabulary) + n) for n in fitting]
        return vocabulary, points, reached

    say(f"{construction}: counting the words of {len(training):,} documents")
    half_words = count_pretokens(base, training[::2])
    words = half_words + count_pretokens(base, training[1::2])
    vocabulary, points, reached = measured(words, sizes)
    if not points:
        raise RevocabError(
            f"{construction}: the training text gives {reached:,} new tokens, and {sizes[0]:,} is"
            " the smallest number asked for; give more text or smaller sizes"
        )
    from_half: list[CurvePoint] = []
    if half:
        say(f"{construction}: the same from half of the text")
        _, from_half, _ = measured(half_words, [point.added for point in points])
    source_tokens = count_tokens(base.backend, heldout)
    bare_tokens = count_tokens(vocabulary.backend, heldout)
    return Curve(
        construction=construction,
        source_vocabulary=len(base),
        kept=len(vocabulary),
        source_tokens=source_tokens,
        bare_tokens=bare_tokens,
        points=tuple(points),
        half=tuple(from_half),
        knee=find_knee(bare_tokens, source_tokens, points),
        most=reached if reached < sizes[-1] else None,
        training_bytes=sum(len(text.encode()) for text in training),
        heldout_bytes=sum(len(text.encode()) for text in heldout),
        heldout_characters=sum(map(len, heldout)),
    )


def nested_runs(
    vocabulary: EditableVocabulary, corpus: ExpansionCorpus, sizes: Sequence[int]
) -> list[list[int]]:
    """Return the sizes, ascending, in groups of which one run of the trainer gives all.

    Tokens learned are nested where they are learned on top of the same new characters, of which a
    small vocabulary takes fewer; a Unigram vocabulary scores them by their use at the end of a run.
    """
    if vocabulary.model == "Unigram":
        return [[size] for size in sizes]
    characters = len(new_characters(vocabulary, corpus, sizes[-1]))
    grouped = groupby(sizes, lambda size: min(characters, int(size * ALPHABET_SHARE)))
    return [list(run) for _, run in grouped]


def _tokens_of(
    vocabulary: EditableVocabulary, grown: Expansion, heldout: Sequence[str]
) -> Callable[[int], int]:
    """Return what gives the text's tokens with the first so many of the new ones."""
    if vocabulary.model == "Unigram":
        total = count_tokens(grown.vocabulary.backend, heldout)
        return lambda size: total
    with_characters = vocabulary.plus(grown.tokens[: grown.characters])
    words, tokens = cut_text(with_characters, heldout)
    merges = grown.vocabulary.merges[len(vocabulary.merges) :]
    saved = list(accumulate(savings(words, merges), initial=0))
    return lambda size: tokens - saved[size - grown.characters]
