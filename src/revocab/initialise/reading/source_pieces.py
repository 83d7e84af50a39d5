"""Spell a token of one vocabulary in tokens of another: the ground of the FVT method.

Gee et al., "Fast Vocabulary Transfer" (2022), average a new token's pieces under the old tokenizer.
What must be tokenised is the text that the token stands for, its word-start space included: neither
a marker character, nor the extra space that SentencePiece puts before every text.
"""

from __future__ import annotations

from collections.abc import Mapping

from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.vocabulary.tokenizers.alphabets import to_byte_level
from revocab.vocabulary.tokenizers.canonical import CanonicalToken, canonical_vocabulary
from revocab.vocabulary.tokenizers.encoding import PARSE, text_encoder
from revocab.vocabulary.tokenizers.load import tokenizer_style

#: Roles whose row stands in for a special token that the source does not have, best first.
STAND_INS = ("unk", "bos", "eos", "pad", "cls", "sep")


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
        if self.style != "byte_level" or self.backend.normalizer is not None:
            return []
        try:
            words = self.backend.pre_tokenizer.pre_tokenize_str(data.decode())
        except UnicodeDecodeError:
            return []
        return [piece.id for word, _ in words for piece in self.model.tokenize(word)]

    def _model(self, data: bytes) -> list[int]:
        """Segment by the merges (or the Unigram scores) alone, which puts no space in front."""
        if self.style == "wordpiece":
            return []
        if self.style == "byte_level":
            return [piece.id for piece in self.model.tokenize(to_byte_level(data))]
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return []
        return [piece.id for piece in self.model.tokenize(text.replace(" ", "▁"))]

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


def source_pieces_released(
    source: PreTrainedTokenizerFast,
    target_tokens: list[CanonicalToken],
    roles: Mapping[str, str] | None = None,
) -> list[list[int]]:
    """Return pieces as the released SAVA code computes them for its FVT baseline.

    The token's spelling, with an ASCII underscore (where ``▁`` was meant) turned into a space, is
    tokenised as running text, with the marker. Where that gives nothing (there: NaN), a stand-in
    is.
    """
    strings = [token.string.replace("_", " ") for token in target_tokens]
    encoder = text_encoder(source.backend_tokenizer, PARSE)
    encoded = encoder.encode_batch(strings, add_special_tokens=False)
    pieces = [encoding.ids for encoding in encoded]
    if not all(pieces):
        stand_in = SourceSpelling(source, roles).stand_in or 0
        pieces = [ids or [stand_in] for ids in pieces]
    return pieces
