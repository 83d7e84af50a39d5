"""A text in the tokens of two vocabularies, and where both have come to the same character.

Suffixes: N tokens of one tokenization, M of the other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from revocab.training.data.document_tokens import load_tokenizer


def whole_ends(spans: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return the character behind each token (int64), or -1 where later tokens overlap it.

    ``spans`` are the first character of each token, and the one behind its last. Tokens that are
    bytes of one character overlap; of tokens that end together the last counts.
    """
    if not spans:
        return np.zeros(0, np.int64)
    begins, ends = np.asarray(spans, dtype=np.int64).T
    far = np.iinfo(np.int64).max
    later = np.append(np.minimum.accumulate(begins[::-1])[::-1][1:], far)
    further = np.append(np.minimum.accumulate(ends[::-1])[::-1][1:], far)
    return np.where((ends <= later) & (ends < further), ends, -1)


def aligned_places(ends_N: np.ndarray, others_M: np.ndarray) -> np.ndarray:
    """Return for each token the one of the other tokenization that ends where it ends, or -1.

    Both are what :func:`whole_ends` returns; so is the result (int64), which ascends where it is
    not -1.
    """
    place_of = {end: place for place, end in enumerate(others_M.tolist()) if end >= 0}
    places = [place_of.get(end, -1) if end >= 0 else -1 for end in ends_N.tolist()]
    return np.array(places, dtype=np.int64)


class SpanTokenizer:
    """A tokenizer folder's ids of texts, each with the characters that it covers."""

    def __init__(self, folder: Path, limit: int):
        """At most ``limit`` tokens are returned of a text."""
        from tokenizers import Tokenizer

        from revocab.tokenizers.canonical import token_roles
        from revocab.tokenizers.encoding import text_encoder
        from revocab.tokenizers.load import load_tokenizer as load

        packing = load_tokenizer(folder)
        self.limit = limit
        self.start = [] if packing.start_id is None else [packing.start_id]
        #: Special tokens, with their roles where they have one.
        self.special = token_roles(load(folder))
        # A post-processor only adds special tokens, and takes white space from what tokens cover.
        state = json.loads(packing.backend.to_str())
        self.backend = Tokenizer.from_str(json.dumps({**state, "post_processor": None}))
        self.encoder = text_encoder(self.backend)

    def encode(self, texts: Sequence[str], *, start: bool) -> list[tuple[list[int], np.ndarray]]:
        """Return ids and :func:`whole_ends` of each text, behind bos where ``start`` asks for it.

        The end of bos is -1.
        """
        before = self.start if start else []
        encoded = []
        for encoding in self.encoder.encode_batch([*texts], add_special_tokens=False):
            ends = np.append(np.full(len(before), -1), whole_ends(encoding.offsets))
            encoded.append(([*before, *encoding.ids][: self.limit], ends[: self.limit]))
        return encoded

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids; what is left of characters that were cut goes."""
        return self.backend.decode([*ids], skip_special_tokens=False).strip("\ufffd")


@dataclass(frozen=True)
class Pair:
    """The student's tokenizer, and the source model's."""

    student: SpanTokenizer
    source: SpanTokenizer

    @property
    def start(self) -> bool:
        return bool(self.student.start and self.source.start)
