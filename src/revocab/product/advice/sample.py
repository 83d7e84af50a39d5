"""A bounded, repeatable sample of a text's documents, split in two by document."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from revocab.corpora.prepare import heldout_documents
from revocab.errors import RevocabError
from revocab.languages import frequent_words, language_label

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
    finding = f"{shares[likely]:.0%} of its words are frequent words of {language_label(likely)}"
    if likely != language and shares[likely] >= OTHERS_FREQUENT:
        raise RevocabError(
            f"{name}: given as {language_label(language)} ({language}), but {finding}; give other"
            f" text, or name it {likely}"
        )
    if own is not None and own < OWN_FREQUENT:
        raise RevocabError(
            f"{name}: given as {language_label(language)} ({language}), but only {own:.0%} of"
            " its words are frequent words of that language; give running text in it, or name the"
            " language that it is in"
        )
