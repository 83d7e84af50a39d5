"""Documents that nearly repeat an earlier one: MinHash signatures with locality-sensitive hashing.

Broder 1997, "On the resemblance and containment of documents". The signatures and their index are
datasketch's.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from revocab.closed import Closed


class NearDuplicates(Closed):
    """When two documents count as the same: by the share of their word n-grams that both have."""

    threshold: float = Field(
        default=0.8, gt=0, lt=1, description="least Jaccard similarity, as signatures estimate it"
    )
    words: int = Field(default=5, ge=1, description="words of an n-gram")
    permutations: int = Field(
        default=128,
        ge=16,
        le=1024,
        description="values of a signature; its error is 1 / root of it",
    )


def ngrams(text: str, words: int) -> set[str]:
    """Return the word n-grams of a text without regard to case; a short text is one n-gram."""
    split = text.lower().split()
    last = max(1, len(split) - words + 1)
    return {" ".join(split[start : start + words]) for start in range(last)}


class Signatures:
    """Signatures of the documents kept so far: about 2 KB of memory for each."""

    def __init__(self, options: NearDuplicates):
        from datasketch import MinHashLSH

        self.options = options
        self.kept: list[Any] = []
        self.index = MinHashLSH(threshold=options.threshold, num_perm=options.permutations)

    def add(self, text: str) -> bool:
        """Keep a document's signature, unless one that is kept is near it; return whether kept.

        The index proposes documents, and their signatures decide.
        """
        from datasketch import MinHash

        signature = MinHash(num_perm=self.options.permutations, seed=1)
        signature.update_batch(
            [ngram.encode() for ngram in sorted(ngrams(text, self.options.words))]
        )
        near = self.index.query(signature)
        if any(signature.jaccard(self.kept[number]) >= self.options.threshold for number in near):
            return False
        self.index.insert(len(self.kept), signature)
        self.kept.append(signature)
        return True
