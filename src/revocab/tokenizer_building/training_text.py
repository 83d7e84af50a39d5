"""The text that a tokenizer is built on: prepared corpora, each with its share of the bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revocab.corpora.read import corpus_manifest, texts
from revocab.errors import RevocabError

BATCH_DOCUMENTS = 256


@dataclass(frozen=True)
class TrainingText:
    """One corpus of a training mixture: its folder and its share of the training bytes."""

    corpus: str
    share: float
    folder: Path


def training_budgets(mixture: list[TrainingText], limit_bytes: int | None = None) -> dict[str, int]:
    """Return bytes to take of each corpus: as much as the shares and the scarcest corpus allow.

    Raises :class:`RevocabError` for shares that do not sum to 1 and for corpora without text.
    """
    problems = [
        f"share {part.share} of corpus {part.corpus}: allowed is above 0 and at most 1"
        for part in mixture
        if not 0 < part.share <= 1
    ]
    total = sum(part.share for part in mixture)
    if abs(total - 1) > 1e-6:
        problems.append(f"shares of the training corpora sum to {total:g}; they must sum to 1")
    if len({part.corpus for part in mixture}) < len(mixture):
        problems.append("a corpus is named twice; name each once, with its whole share")
    available = {part.corpus: corpus_manifest(part.folder)["train"]["bytes"] for part in mixture}
    problems += [
        f"corpus {name}: no text to train on" for name, size in available.items() if not size
    ]
    if problems:
        raise RevocabError(problems)
    budget = min(available[part.corpus] / part.share for part in mixture)
    if limit_bytes is not None:
        budget = min(budget, limit_bytes)
    return {part.corpus: int(budget * part.share) for part in mixture}


def training_texts(mixture: list[TrainingText], budgets: dict[str, int]) -> Iterator[str]:
    """Yield each corpus's documents in order up to its budget; the last one is cut to fit.

    Raises :class:`RevocabError` for a document that cannot be UTF-8.
    """
    for part in mixture:
        left = budgets[part.corpus]
        for text in texts(part.folder):
            data = text.encode()
            if len(data) > left:
                yield data[:left].decode(errors="ignore")
                break
            left -= len(data)
            yield text


def describe_training_text(mixture: list[TrainingText], budgets: dict[str, int]) -> dict[str, Any]:
    """Return what a manifest says of the text: share, bytes taken and file hash of each corpus."""
    return {
        part.corpus: {
            "share": part.share,
            "bytes": budgets[part.corpus],
            "sha256": corpus_manifest(part.folder)["sha256"]["train"],
        }
        for part in mixture
    }


def batched(values: Iterable[str], size: int = BATCH_DOCUMENTS) -> Iterator[list[str]]:
    """Yield lists of ``size`` texts; the library's threads work on a list at a time."""
    batch: list[str] = []
    for value in values:
        batch.append(value)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
