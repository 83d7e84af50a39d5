"""The text that a tokenizer is built on: prepared corpora, each with its share of the bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from revocab.corpora.read import corpus_manifest, texts
from revocab.errors import refuse

BATCH_DOCUMENTS = 256
#: A corpus of which at least this share is used has little more to give.
MOST = 0.9


@dataclass(frozen=True)
class TrainingText:
    """One corpus of a training mixture: its folder and its share of the training bytes."""

    corpus: str
    share: float
    folder: Path


def training_budgets(mixture: list[TrainingText], limit_bytes: int | None = None) -> dict[str, int]:
    """Return bytes to take of each corpus: as much as the shares and the scarcest corpus allow.

    Which corpus that is, is said on stderr where others have more to give. Raises
    :class:`RevocabError` for shares that do not sum to 1 and for corpora without text.
    """
    problems = [
        f"share {part.share} of corpus {part.corpus}: allowed is above 0 and at most 1"
        for part in mixture
        if not 0 < part.share <= 1
    ]
    total = sum(part.share for part in mixture)
    if abs(total - 1) > 1e-6:
        problems.append(f"shares of the training corpora sum to {total:g}; they must sum to 1")
    available = {part.corpus: corpus_manifest(part.folder)["train"]["bytes"] for part in mixture}
    problems += [
        f"corpus {name}: no text to train on" for name, size in available.items() if not size
    ]
    refuse(problems)
    budget = min(available[part.corpus] / part.share for part in mixture)
    if limit_bytes is not None:
        budget = min(budget, limit_bytes)
    taken = {part.corpus: int(budget * part.share) for part in mixture}
    parts = {
        part.corpus: {
            "share": part.share, "bytes": taken[part.corpus], "of": available[part.corpus]
        }
        for part in mixture
    }  # fmt: skip
    if caution := shortage(parts):
        print(caution, file=sys.stderr)
    return taken


def shortage(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return in words which corpus ran out, and what that leaves of others; nothing if none did."""
    used = {name: part["bytes"] / part["of"] for name, part in parts.items()}
    scarce = max(used, key=lambda name: used[name])
    left = [f"{share:.0%} of {name}" for name, share in used.items() if share < MOST]
    # A byte is lost where a share is rounded.
    if not left or parts[scarce]["of"] - parts[scarce]["bytes"] > 1:
        return ""
    return (
        f"corpus {scarce} ran out at {parts[scarce]['of']:,} bytes, its share of"
        f" {parts[scarce]['share']:g}: the shares are kept, and so only {', '.join(left)} is used;"
        f" lower the share of {scarce}, or give more of it, to use more"
    )


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
    manifests = {part.corpus: corpus_manifest(part.folder) for part in mixture}
    return {
        part.corpus: {
            "share": part.share,
            "bytes": budgets[part.corpus],
            "of": manifests[part.corpus]["train"]["bytes"],
            "sha256": manifests[part.corpus]["sha256"]["train"],
        }
        for part in mixture
    }


def batched(values: Iterable[str], size: int = BATCH_DOCUMENTS) -> Iterator[list[str]]:
    values = iter(values)
    while batch := list(islice(values, size)):
        yield batch
