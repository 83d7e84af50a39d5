"""All text becomes tokens here: as plain text, as text with control tokens in it, or as a prompt.

A document that spells a special token (``<|endoftext|>`` in a page on language models) is text: its
characters are cut like any others, as with ``split_special_tokens`` in transformers. Text that a
template wrote is read with its control tokens (``parse``).

Some text no token stands for (:class:`Coverage`): BPE leaves out a symbol that its vocabulary lacks
unless it has an unknown token: a byte of a byte-level vocabulary (that of SmolLM2 lacks 21 of the
256), a character of another one without byte fallback. Nothing can be predicted of such text, so
whoever divides by bytes leaves these out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from revocab.vocabulary.tokenizers.alphabets import FROM_LATIN, from_byte_level

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

    from revocab.heavy_types import PreTrainedTokenizerFast

#: Characters encoded at a time: encodings are some forty times larger than their text.
BATCH_CHARACTERS = 1_000_000
#: What the text of a special token is: text, or that token.
SpecialTokens = Literal["text", "parse"]
TEXT: SpecialTokens = "text"
PARSE: SpecialTokens = "parse"
SPECIAL_TOKENS = (
    "what text that spells a special token becomes: text (ordinary tokens), or parse (that token)"
)
#: So many texts are looked for one by one; of more, only what they begin with.
FEW = 16


def text_encoder(backend: Tokenizer, special_tokens: SpecialTokens = TEXT) -> Tokenizer:
    """Return what encodes text so; it is ``backend`` itself, switched, wherever that is enough.

    With ``text`` no id of a special token comes out but that of unknown words. Models that find
    whole words or pieces in their vocabulary (Unigram, WordLevel) would find ``</s>`` there, too:
    of these a copy is returned in which special tokens are spelt as no text is.
    """
    backend.encode_special_tokens = special_tokens == TEXT
    if special_tokens == PARSE:
        return backend
    model: Any = backend.model
    unknown = getattr(model, "unk_token", None)
    in_model = {
        token.content
        for number, token in backend.get_added_tokens_decoder().items()
        if token.special and token.content != unknown
        if model.token_to_id(token.content) == number
        if number in backend.encode(token.content, add_special_tokens=False).ids
    }
    return _without_pieces(backend, in_model) if in_model else backend


def _without_pieces(backend: Tokenizer, pieces: set[str]) -> Tokenizer:
    """Return a copy whose model does not find ``pieces`` in text; all ids stay."""
    from tokenizers import Tokenizer

    state = json.loads(backend.to_str())
    model, vocabulary = state["model"], state["model"]["vocab"]
    state["added_tokens"] = [
        token for token in state["added_tokens"] if token["content"] not in pieces
    ]

    def spelling(piece: str) -> str:
        return f"\uffff{piece}\uffff" if piece in pieces else piece

    if isinstance(vocabulary, list):
        unknown = model.get("unk_id")
        model["vocab"] = [
            [piece if number == unknown else spelling(piece), score]
            for number, (piece, score) in enumerate(vocabulary)
        ]
    else:
        model["vocab"] = {spelling(piece): number for piece, number in vocabulary.items()}
    if "merges" in model:
        model["merges"] = [pair for pair in model["merges"] if not {*pair, "".join(pair)} & pieces]
    copy: Any = Tokenizer.from_str(json.dumps(state))
    copy.encode_special_tokens = True
    return copy


class SpecialTexts:
    """The texts of a tokenizer's special tokens, found in other text."""

    def __init__(self, backend: Tokenizer):
        added = backend.get_added_tokens_decoder().values()
        special = {token.content for token in added if token.special and token.content}
        texts = sorted(special, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, texts)) or "(?!)")
        #: By first character: a text without any of these, as nearly all are, holds no such token.
        self._beginnings: dict[str, set[str]] = {}
        for text in texts:
            beginning = text if len(texts) <= FEW else text[:3]
            self._beginnings.setdefault(text[0], set()).add(beginning)

    def count(self, text: str) -> int:
        """Return how many special tokens a text spells."""
        for first, beginnings in self._beginnings.items():
            if first in text and any(beginning in text for beginning in beginnings):
                return len(self._pattern.findall(text))
        return 0


def special_sentence(what: str, count: int, special_tokens: SpecialTokens) -> str:
    """Return in words what became of special tokens that a text spells."""
    became = "ordinary tokens" if special_tokens == TEXT else "control tokens (special_tokens)"
    return f"{what}: {count:,} texts of special tokens in it became {became}"


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in documents:
        batch.append(text)
        size += len(text)
        if size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def encode_batches(
    backend: Tokenizer, documents: Iterable[str], *, ids_only: bool = True
) -> Iterator[list[Encoding]]:
    """Yield the encodings of plain text batch by batch; the next is encoded meanwhile."""
    encoder: Any = text_encoder(backend)
    # The fast call gives no offsets, strings and word numbers.
    fast = getattr(encoder, "encode_batch_fast", encoder.encode_batch)
    encode = fast if ids_only else encoder.encode_batch
    with ThreadPoolExecutor(1) as thread:
        waiting = None
        for batch in _batches(documents):
            started = thread.submit(encode, batch, add_special_tokens=False)
            if waiting is not None:
                yield waiting.result()
            waiting = started
        if waiting is not None:
            yield waiting.result()


# What stands after a prompt ---------------------------------------------------------------------


def load_prompt_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Load the tokenizer of a model that is asked: its prompts and contexts go on.

    Tokens that it puts behind a text (eos, sep) end a text in training; behind a prompt they would
    end what the model is to continue. Those before it stay.
    """
    from tokenizers import Tokenizer

    from revocab.vocabulary.tokenizers.load import load_tokenizer

    tokenizer = load_tokenizer(folder)
    if appended_tokens(tokenizer):
        backend: Any = tokenizer.backend_tokenizer
        state = json.loads(backend.to_str())
        # A small tokenizer takes the step in: the vocabulary decides nothing of it.
        small = {
            **state, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
            "decoder": None, "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
            "post_processor": _nothing_behind(state["post_processor"]),
        }  # fmt: skip
        backend.post_processor = Tokenizer.from_str(json.dumps(small)).post_processor
    return tokenizer


def appended_tokens(tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """Return the ids that a tokenizer puts behind every text: eos or sep, mostly none."""
    backend = tokenizer.backend_tokenizer
    bare, whole = (backend.encode("a", add_special_tokens=add).ids for add in (False, True))
    begin = next((at for at in range(len(whole)) if whole[at : at + len(bare)] == bare), len(whole))
    return whole[begin + len(bare) :]


def _nothing_behind(step: dict[str, Any]) -> dict[str, Any]:
    """Return a post-processor that puts in front of a text what ``step`` does, and nothing behind.

    Those of BERT and RoBERTa become templates.
    """
    kind = step["type"]
    if kind == "Sequence":
        return {**step, "processors": [_nothing_behind(inner) for inner in step["processors"]]}
    if kind in ("BertProcessing", "RobertaProcessing"):
        first, number = step["cls"]
        special = {"SpecialToken": {"id": first, "type_id": 0}}
        parts = [special, {"Sequence": {"id": "A", "type_id": 0}}]
        template = {
            "type": "TemplateProcessing",
            "single": parts,
            "pair": [*parts, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {first: {"id": first, "ids": [number], "tokens": [first]}},
        }
        if kind == "BertProcessing":
            return template
        trimmed = {"type": "ByteLevel", "add_prefix_space": step["add_prefix_space"],
                   "trim_offsets": step["trim_offsets"], "use_regex": True}  # fmt: skip
        return {"type": "Sequence", "processors": [trimmed, template]}
    if kind == "TemplateProcessing":
        step = dict(step)
        for name in ("single", "pair"):
            last = max(at for at, part in enumerate(step[name]) if "Sequence" in part)
            step[name] = step[name][: last + 1]
    return step


# Text that no token stands for ---------------------------------------------------------------

#: Bytes that valid UTF-8 never holds.
NEVER = frozenset({0xC0, 0xC1, *range(0xF5, 0x100)})
BYTE_LEVEL = '"ByteLevel"'
#: So many kinds of text are named, and so many counted at a time.
NAMED, COUNTED = 8, 10_000


class Coverage:
    """Which text a tokenizer has tokens for.

    ``backend`` is what encodes the text, and should be as :func:`text_encoder` returns it.
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
            return [byte for byte in range(256) if has(FROM_LATIN[byte]) is None]
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
        spelt = self.fallback and not self.byte_level
        absent = {letter for letter in letters if backend.token_to_id(letter) is None}
        if spelt:
            absent = {letter for letter in absent if {*letter.encode()} & {*self.missing_bytes}}
        lost = Counter({letter: letters[letter] for letter in absent})
        for number in ids:
            token = backend.id_to_token(number) or ""
            if self.byte_level and number in self._added:  # as it is in the text, not as bytes
                token = "".join(FROM_LATIN[byte] for byte in token.encode())
            lost.subtract(letter for letter in token if letter in absent)
        return Counter({self._spelt(letter): count for letter, count in (+lost).items()})

    @cached_property
    def _added(self) -> set[int]:
        decoder: Any = self.backend
        return {*decoder.get_added_tokens_decoder()}

    def _spelt(self, letter: str) -> bytes:
        data = from_byte_level(letter) if self.byte_level else None
        return letter.encode() if data is None else data


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
