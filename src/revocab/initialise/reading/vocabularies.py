"""Source and target vocabulary of an initialisation, what they share, and how one spells the other.

Pairs of ids come from a folder of intersect_vocabularies, which is held against the tokenizers at
hand, or are computed here. A new token's source pieces are the ground of the FVT method (Gee et
al., "Fast Vocabulary Transfer", 2022). What must be tokenised is the text that the token stands
for, its word-start space included: neither a marker character, nor the extra space that
SentencePiece puts before every text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.models.special_ids import Counterparts
from revocab.vocabulary.intersection import (
    Identity,
    Intersection,
    intersect,
    read_pairs,
    unequal_pairs,
)
from revocab.vocabulary.tokenizers.alphabets import to_byte_level
from revocab.vocabulary.tokenizers.canonical import CanonicalToken, canonical_vocabulary
from revocab.vocabulary.tokenizers.encoding import PARSE, text_encoder
from revocab.vocabulary.tokenizers.load import load_tokenizer, tokenizer_style

#: Roles whose row stands in for a special token that the source does not have, best first.
STAND_INS = ("unk", "bos", "eos", "pad", "cls", "sep")
NO_ROLES: dict[str, dict[str, str]] = {"source": {}, "target": {}}


def shared_tokens(
    first: PreTrainedTokenizerFast,
    target: PreTrainedTokenizerFast,
    *,
    identity: Identity | None = None,
    pairs: Path | None = None,
    side: str = "source",
) -> Intersection:
    """Return the tokens that two tokenizers share, read from ``pairs`` where there are any.

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
    def counterparts(self) -> Counterparts:
        both = self.source_tokenizer, self.target_tokenizer
        return Counterparts(*both, self.roles["source"], self.roles["target"])

    @property
    def roles(self) -> dict[str, dict[str, str]]:
        return self.intersection.report.get("roles", NO_ROLES)


class SourceSpelling:
    """Spells bytes in tokens of one vocabulary, as it cuts them itself; roles are by spelling."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, roles: Mapping[str, str] | None = None):
        self.tokens = canonical_vocabulary(tokenizer, roles)
        self.style = tokenizer_style(tokenizer)
        self.backend = tokenizer.backend_tokenizer
        self.model = self.backend.model
        self.by_data: dict[bytes, int] = {}
        self.by_role: dict[str, int] = {}
        for number, token in enumerate(self.tokens):
            if token.kind != "special":
                held = self.by_data.setdefault(token.data, number)
                if self.tokens[held].kind == "byte" and token.kind != "byte":
                    self.by_data[token.data] = number
            elif token.role is not None:
                self.by_role.setdefault(token.role, number)
        self.longest = max(map(len, self.by_data), default=0)
        stand_ins = [self.by_role[role] for role in STAND_INS if role in self.by_role]
        self.stand_in: int | None = stand_ins[0] if stand_ins else None
        #: What is taken for a text that cannot be spelt (WordPiece without bytes).
        self.unspelt = [self.stand_in or 0]

    def own_pieces(self, token: CanonicalToken) -> list[int]:
        """Return source ids for a token: its role's, a stand-in's, or what spells it; else []."""
        if token.kind == "special":
            if token.role in self.by_role:
                return [self.by_role[token.role]]
            if self.stand_in is not None:
                return [self.stand_in]
        return self.spell(token.data)

    def spell(self, data: bytes) -> list[int]:
        """Return source ids whose bytes concatenate to ``data`` exactly; [] if there are none."""
        for segment in (self._pipeline, self._model):
            ids = segment(data)
            if ids and b"".join(self.tokens[number].data for number in ids) == data:
                return ids
        return self._longest_first(data)

    def _pipeline(self, data: bytes) -> list[int]:
        """Segment as in running text: only byte-level pipelines add nothing before the text."""
        text = _decoded(data)
        if text is None or self.style != "byte_level" or self.backend.normalizer is not None:
            return []
        words = self.backend.pre_tokenizer.pre_tokenize_str(text)
        return [piece.id for word, _ in words for piece in self.model.tokenize(word)]

    def _model(self, data: bytes) -> list[int]:
        """Segment by the merges (or the Unigram scores) alone, which puts no space in front."""
        text = _decoded(data)
        if self.style == "byte_level":
            text = to_byte_level(data)
        elif text is None or self.style == "wordpiece":
            return []
        else:
            text = text.replace(" ", "▁")
        return [piece.id for piece in self.model.tokenize(text)]

    def _longest_first(self, data: bytes) -> list[int]:
        """Segment greedily over the bytes; always succeeds where the vocabulary has every byte."""
        ids, start = [], 0
        while start < len(data):
            for end in range(min(len(data), start + self.longest), start, -1):
                number = self.by_data.get(data[start:end])
                if number is not None:
                    ids.append(number)
                    start = end
                    break
            else:
                return []
        return ids


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def source_pieces_released(
    source: PreTrainedTokenizerFast,
    target_tokens: list[CanonicalToken],
    roles: Mapping[str, str] | None = None,
) -> list[list[int]]:
    """Return pieces as the released SAVA code computes them for its FVT baseline.

    The token's spelling, marker included, with an ASCII underscore (where ``▁`` was meant) turned
    into a space, is tokenised as running text. Where that gives nothing (there: NaN): a stand-in.
    """
    strings = [token.string.replace("_", " ") for token in target_tokens]
    encoder = text_encoder(source.backend_tokenizer, PARSE)
    encoded = encoder.encode_batch(strings, add_special_tokens=False)
    pieces = [encoding.ids for encoding in encoded]
    if all(pieces):
        return pieces
    unspelt = SourceSpelling(source, roles).unspelt
    return [ids or unspelt for ids in pieces]


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
        return _text_of(self._spelling.tokens[token])

    def target_text(self, token: int) -> str:
        return _text_of(self._missing[token])


def _text_of(token: CanonicalToken) -> str:
    """Return what a token stands for in a text; "" for special tokens and bytes."""
    return "" if token.kind in ("special", "byte") else token.data.decode(errors="ignore")
