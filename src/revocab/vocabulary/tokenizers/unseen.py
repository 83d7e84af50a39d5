"""Text that no token stands for: it vanishes without a trace, or becomes the unknown token.

BPE leaves out a symbol that its vocabulary lacks unless it has an unknown token: a byte of a
byte-level vocabulary (that of SmolLM2 lacks 21 of the 256), a character of another one without byte
fallback. Nothing can be predicted of such text, so whoever divides by bytes leaves these out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from revocab.heavy_types import Tokenizer
from revocab.vocabulary.tokenizers.alphabets import TO_LATIN, from_byte_level

#: Bytes that valid UTF-8 never holds.
NEVER = frozenset({0xC0, 0xC1, *range(0xF5, 0x100)})
BYTE_LEVEL = '"ByteLevel"'
#: So many kinds of text are named, and so many counted at a time.
NAMED, COUNTED = 8, 10_000


class Coverage:
    """Which text a tokenizer has tokens for.

    ``backend`` is what encodes the text, and should be as
    :func:`~revocab.vocabulary.tokenizers.encoding.text_encoder` returns it.
    """

    def __init__(self, backend: Tokenizer):
        self.backend = backend
        model: Any = backend.model
        self.is_bpe = type(model).__name__ == "BPE"
        self.fallback = bool(getattr(model, "byte_fallback", False))
        unknown = getattr(model, "unk_token", None)
        if type(model).__name__ == "Unigram":
            number = json.loads(model.__getstate__())["unk_id"]
            unknown = None if number is None else backend.id_to_token(number)
        self.unknown_id: int | None = None if unknown is None else backend.token_to_id(unknown)

    @cached_property
    def byte_level(self) -> bool:
        steps = (self.backend.normalizer, self.backend.pre_tokenizer)
        return any(BYTE_LEVEL in step.__getstate__().decode() for step in steps if step)

    @cached_property
    def missing_bytes(self) -> list[int]:
        """Return the bytes without a token, of a vocabulary that has tokens for bytes; ascending.

        Those of a vocabulary with an unknown token become that one.
        """
        has = self.backend.token_to_id
        if self.byte_level:
            return sorted(byte for letter, byte in LETTERS.items() if has(letter) is None)
        if not self.fallback:
            return []
        return [byte for byte in range(256) if has(f"<0x{byte:02X}>") is None]

    @cached_property
    def lacking(self) -> list[int]:
        """Return the missing bytes that text has."""
        return [byte for byte in self.missing_bytes if byte not in NEVER]

    @cached_property
    def spells_all(self) -> bool:
        # The library spells a character in bytes only where it has all of them.
        return self.fallback and not self.lacking

    @cached_property
    def loses_characters(self) -> bool:
        """Whether characters without a token vanish: BPE without unknown token and whole bytes."""
        plain = self.is_bpe and self.unknown_id is None and not self.byte_level
        return plain and not self.spells_all

    @cached_property
    def _lost_bytes(self) -> bytes:
        lost = self.is_bpe and self.byte_level and self.unknown_id is None
        return bytes(self.lacking) if lost else b""

    def unseen(self, text: str, ids: Sequence[int]) -> Counter[bytes]:
        return self.missed(text, ids)[0]

    def missed(self, text: str, ids: Sequence[int]) -> tuple[Counter[bytes], int]:
        """Return what of a text, with its ``ids``, no token stands for: how often which bytes.

        Bytes and characters that vanish one by one, as they are after the normaliser, and how many
        they are; of unknown tokens the text that became one.
        """
        unseen: Counter[bytes] = Counter()
        if self.unknown_id is not None and self.unknown_id in ids and not self.spells_all:
            encoding = self.backend.encode(text, add_special_tokens=False)
            unseen.update(
                text[begin:end].encode()
                for number, (begin, end) in zip(encoding.ids, encoding.offsets, strict=True)
                if number == self.unknown_id
            )
        if self._lost_bytes:
            data = text.encode(errors="replace")
            if len(data.translate(None, self._lost_bytes)) == len(data):
                return unseen, 0
        elif not self.loses_characters or all(map(self._is_known, set(text))):
            return unseen, 0
        lost = self._lost(text, ids)
        return unseen + lost, lost.total()

    def _is_known(self, symbol: str) -> bool:
        # Spaces are written otherwise; a normaliser may change others, which is looked at then.
        return symbol == " " or self.backend.token_to_id(symbol) is not None

    def _lost(self, text: str, ids: Sequence[int]) -> Counter[bytes]:
        """Return the symbols that the model gets and has no token for.

        What lies in an added token, or in a word that is a token as a whole, is there after all.
        """
        backend: Any = self.backend
        if backend.normalizer is not None:
            text = backend.normalizer.normalize_str(text)
        pieces = [(text, None)]
        if backend.pre_tokenizer is not None:
            pieces = backend.pre_tokenizer.pre_tokenize_str(text)
        letters = Counter(letter for piece, _ in pieces for letter in piece)
        absent = {letter for letter in letters if not self._has(letter)}
        lost = Counter({letter: letters[letter] for letter in absent})
        for number in ids:
            lost.subtract(letter for letter in self._letters(number) if letter in absent)
        return Counter({self._spelt(letter): count for letter, count in (+lost).items()})

    def _has(self, letter: str) -> bool:
        if self.backend.token_to_id(letter) is not None:
            return True
        spelt = self.fallback and not self.byte_level
        return spelt and not {*letter.encode()} & {*self.missing_bytes}

    def _letters(self, number: int) -> str:
        """Return the letters of a token as the model has them, from which lost ones are told."""
        token = self.backend.id_to_token(number) or ""
        if not self.byte_level or number not in self._added:
            return token
        return "".join(letter for byte in token.encode() for letter in LETTERS_OF[byte])

    @cached_property
    def _added(self) -> set[int]:
        return {*self.backend.get_added_tokens_decoder()}

    def _spelt(self, letter: str) -> bytes:
        data = from_byte_level(letter) if self.byte_level else None
        return letter.encode() if data is None else data


#: The letter of each byte in a byte-level vocabulary, and back.
LETTERS = {chr(letter): ord(byte) for letter, byte in TO_LATIN.items()}
LETTERS_OF = {byte: letter for letter, byte in LETTERS.items()}


def size_of(unseen: Counter[bytes]) -> int:
    return sum(len(data) * count for data, count in unseen.items())


@dataclass
class Unseen:
    """What of some texts no token stands for: bytes, the commonest kinds, and the first text."""

    size: int = 0
    kinds: Counter[bytes] = field(default_factory=Counter)
    first: str = ""

    def add(self, unseen: Counter[bytes], where: str) -> None:
        if not unseen:
            return
        self.first = self.first or where
        self.size += size_of(unseen)
        self.kinds += unseen
        if len(self.kinds) > COUNTED:  # of a vocabulary of words
            self.kinds = Counter(dict(self.kinds.most_common(COUNTED // 2)))

    def described(self) -> dict[str, Any]:
        """Return what a manifest says of it: nothing where all was seen."""
        if not self.size:
            return {}
        ordered = sorted(self.kinds.items(), key=lambda pair: (-pair[1], pair[0]))
        named = {name_of(data): count for data, count in ordered[:NAMED]}
        return {"unseen_bytes": self.size, "unseen": named}

    def sentence(self, what: str, size: int) -> str:
        """Return in words what of a text of ``size`` bytes is unseen."""
        named = self.described()["unseen"]
        listed = ", ".join(f"{name} ({count:,})" for name, count in named.items())
        more = ", …" if len(self.kinds) > len(named) else ""
        return (
            f"{what}: {self.size:,} of {size:,} bytes have no token and are lost or unknown:"
            f" {listed}{more}; first in {self.first}"
        )


def name_of(data: bytes) -> str:
    """Return text as it is, and what is none, or cannot be seen, as ``0x13 0x14``."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    return text if text.isprintable() and text.strip() else " ".join(f"0x{b:02X}" for b in data)
