"""A bounded, repeatable sample of a text's documents, split in two by document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: Bytes of a text that are looked at.
SAMPLE_BYTES = 40_000_000


@dataclass(frozen=True)
class Sample:
    """Documents to learn from and, disjoint from them, documents to measure on."""

    training: tuple[str, ...]
    heldout: tuple[str, ...]
    #: Bytes in the sample, and in the text that it is of.
    bytes: int
    of_bytes: int
    #: Documents of the text, and those of them that repeat another (left out).
    of_documents: int
    copies: int


def sample_text(
    name: str, texts: Iterable[str], limit_bytes: int = SAMPLE_BYTES, seed: int = 0
) -> Sample:
    """Return a sample of at most ``limit_bytes``; raise :class:`RevocabError` for unfit text."""
    raise NotImplementedError
