"""Source and target vocabulary of an initialisation, what they share, and how one spells the other.

Pairs of ids come from a folder of intersect_vocabularies, which is held against the tokenizers at
hand, or are computed here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.initialise.reading.source_pieces import SourceSpelling, source_pieces_released
from revocab.models.vocabulary.special_ids import Counterparts
from revocab.vocabulary.intersection import (
    Identity,
    Intersection,
    intersect,
    read_pairs,
    unequal_pairs,
)
from revocab.vocabulary.tokenizers.canonical import CanonicalToken, canonical_vocabulary
from revocab.vocabulary.tokenizers.load import load_tokenizer

NO_ROLES: dict[str, dict[str, str]] = {"source": {}, "target": {}}


def shared_tokens(
    first: PreTrainedTokenizerFast,
    target: PreTrainedTokenizerFast,
    *,
    identity: Identity | None = None,
    pairs: Path | None = None,
    side: str = "source",
) -> Intersection:
    """Return the tokens that two tokenizers share, read from ``pairs`` where they are given.

    ``identity`` None: the one of ``pairs``, else bytes. ``side`` is what messages call the first
    tokenizer. Raises :class:`RevocabError` for stored pairs of other vocabularies (told by their
    sizes and by every pair's two tokens) or of another identity.
    """
    if pairs is None:
        return intersect(first, target, identity or "bytes")
    shared = read_pairs(pairs)
    for name, key, tokenizer in ((side, "source", first), ("target", "target", target)):
        size = shared.report[f"{key}_size"]
        if size != len(tokenizer):
            raise RevocabError(
                f"{pairs}: made for a {name} vocabulary of {size} tokens, but the {name} "
                f"tokenizer here has {len(tokenizer)}; run revocab intersect again"
            )
    if shared.report["identity"] != (identity or shared.report["identity"]):
        raise RevocabError(
            f"{pairs}: made with identity {shared.report['identity']!r}, asked for "
            f"{identity!r}; run revocab intersect again, or change --identity"
        )
    roles = shared.report.get("roles", NO_ROLES)
    wrong = unequal_pairs(
        canonical_vocabulary(first, roles["source"]),
        canonical_vocabulary(target, roles["target"]),
        shared.report["identity"],
        dict(zip(shared.target_ids.tolist(), shared.source_ids.tolist(), strict=True)),
    )
    if wrong:
        raise RevocabError(
            f"{pairs}: not made for this {side} and target tokenizer: {len(wrong)} tokens differ"
            f" (of {len(shared.target_ids)} pairs): {wrong[0]}; run revocab intersect again"
        )
    return shared


@dataclass(frozen=True)
class Vocabularies:
    """Source and target tokenizer folders and what they share."""

    source: Path
    target: Path
    identity: Identity = "bytes"
    #: A folder written by intersect_vocabularies; none: computed here.
    pairs: Path | None = None

    @cached_property
    def source_tokenizer(self) -> Any:
        return load_tokenizer(self.source)

    @cached_property
    def target_tokenizer(self) -> Any:
        return load_tokenizer(self.target)

    @cached_property
    def intersection(self) -> Intersection:
        """Return the shared tokens; a stored intersection must be of these two vocabularies."""
        both = self.source_tokenizer, self.target_tokenizer
        return shared_tokens(*both, identity=self.identity, pairs=self.pairs)

    @property
    def new_special(self) -> dict[str, str]:
        """Return the target's special tokens without a counterpart in the source, by id."""
        return dict(self.intersection.report["special_without_counterpart"]["target"])

    @property
    def counterparts(self) -> Counterparts:
        both = self.source_tokenizer, self.target_tokenizer
        return Counterparts(*both, self.roles["source"], self.roles["target"])

    @property
    def roles(self) -> dict[str, dict[str, str]]:
        return self.intersection.report.get("roles", NO_ROLES)


@dataclass(frozen=True)
class MissingPieces:
    """How the source spells the target's tokens that it lacks, by target id."""

    vocabularies: Vocabularies
    #: Gets, as ``stand_in``, whose row special tokens without a counterpart begin as.
    notes: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def _missing(self) -> dict[int, CanonicalToken]:
        both = self.vocabularies
        tokens = canonical_vocabulary(both.target_tokenizer, both.roles["target"])
        return {number: tokens[number] for number in both.intersection.missing.tolist()}

    @cached_property
    def _spelling(self) -> SourceSpelling:
        both = self.vocabularies
        return SourceSpelling(both.source_tokenizer, both.roles["source"])

    @cached_property
    def _own(self) -> dict[int, list[int]]:
        return {number: self._spelling.own_pieces(token) for number, token in self._missing.items()}

    @cached_property
    def _released(self) -> dict[int, list[int]]:
        both, tokens = self.vocabularies, list(self._missing.values())
        lists = source_pieces_released(both.source_tokenizer, tokens, both.roles["source"])
        return dict(zip(self._missing, lists, strict=True))

    def pieces(self, token: int) -> list[int]:
        """Return the source ids whose text is a token's, or a stand-in's; never []."""
        own, spelling = self._missing[token], self._spelling
        stand_in = spelling.stand_in
        if own.kind == "special" and own.role not in spelling.by_role and stand_in is not None:
            self.notes["stand_in"] = spelling.tokens[stand_in].string
        return self._own[token] or spelling.unspelt

    def pieces_released(self, token: int) -> list[int]:
        return self._released[token]

    def spelt(self, token: int) -> bool:
        return bool(self._own[token])

    def source_text(self, token: int) -> str:
        return text_of(self._spelling.tokens[token])

    def target_text(self, token: int) -> str:
        return text_of(self._missing[token])


def text_of(token: CanonicalToken) -> str:
    """Return what a token stands for in a text; "" for special tokens and bytes."""
    return "" if token.kind in ("special", "byte") else token.data.decode(errors="ignore")
