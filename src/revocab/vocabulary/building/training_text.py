"""The text that a tokenizer is built on: corpora with their shares, and their words."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from revocab.corpora.read import corpus_manifest, texts
from revocab.errors import refuse
from revocab.heavy_types import Tokenizer
from revocab.vocabulary.building.editable import EditableVocabulary

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
    if caution := shortage(describe_training_text(mixture, taken)):
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


#: A stretch of text that starts with its spaces: no token of a word reaches over its ends.
UNITS = {True: re.compile(r"[\s▁]*[^\s▁]+"), False: re.compile(r"\s*\S+")}
#: Joiners inside words of several scripts.
JOINERS = "\u200c\u200d"


@dataclass(frozen=True)
class CutPretokens:
    """Distinct words with their counts and the tokens that a vocabulary gives them, sorted."""

    pieces: list[list[str]]
    counts: list[int]

    def token_counts(self) -> Counter[str]:
        used: Counter[str] = Counter()
        for pieces, count in zip(self.pieces, self.counts, strict=True):
            for piece in pieces:
                used[piece] += count
        return used


def count_pretokens(vocabulary: EditableVocabulary, texts: Iterable[str]) -> Counter[str]:
    """Return the words of ``texts``, as they reach the model, with their counts.

    Whitespace between words and at the end of a text is not counted (no new token holds any).
    """
    backend = vocabulary.base.backend_tokenizer
    find = UNITS[vocabulary.style != "byte_level"].findall
    normalise = backend.normalizer.normalize_str if backend.normalizer else str
    units: Counter[str] = Counter()
    for text in texts:
        units.update(find(normalise(text)))
    if backend.pre_tokenizer is None:
        return units
    split = backend.pre_tokenizer.pre_tokenize_str
    words: Counter[str] = Counter()
    for unit, count in units.items():
        for word, _ in split(unit):
            words[word] += count
    return words


def cut_pretokens(backend: Tokenizer, words: Counter[str]) -> CutPretokens:
    tokenize = backend.model.tokenize
    ordered = sorted(words)
    pieces = [[token.value for token in tokenize(word)] for word in ordered]
    return CutPretokens(pieces, [words[word] for word in ordered])


@cache
def character_class(character: str) -> Literal["letter", "mark", "other"]:
    """Return whether a character is part of words, of punctuation and symbols, or neither."""
    category = unicodedata.category(character)
    if category[0] in "LM" or character in JOINERS:
        return "letter"
    return "mark" if category[0] in "PS" else "other"


def is_word_part(data: bytes) -> bool:
    """Return whether bytes may become a new token.

    A new token is letters, or punctuation and symbols, after one space at most: it joins no two
    words, no word and its comma, and no digits, so that the base's treatment of numbers and white
    space stays. Parts of a character at either end are left out of account.
    """
    text = data.decode(errors="ignore").removeprefix(" ")
    kinds = {character_class(character) for character in text}
    return len(kinds) <= 1 and "other" not in kinds
