"""The words of a corpus as a vocabulary's model sees them, and how it cuts them into tokens."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from revocab.heavy_types import Tokenizer
from revocab.vocabulary.building.editable import EditableVocabulary

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
