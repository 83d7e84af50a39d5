"""Token identity: what each token of a vocabulary stands for, whatever its spelling.

``▁città`` (SentencePiece), ``ĠcittÃł`` (byte-level) and ``città`` (WordPiece, word-initial) all
stand for the bytes of " città": a word start is a leading space byte. ``<0x0A>`` and ``Ċ`` are one
newline byte. Special tokens are no text: they have a role, and ``vocabulary/intersection.py``
says by what they are known.

Some tokens no text is ever encoded to, so that none trains their rows (:func:`unreachable`).
Whether merges (or Unigram scores) lead to a token is exact: if a token's own text is segmented
otherwise, it is so inside any other text too. Whether cutting into words, or the normaliser, keeps
a token's text whole is tried out in the contexts of :data:`CONTEXTS`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from revocab.errors import RevocabError, refuse
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.vocabulary.tokenizers.alphabets import from_byte_level
from revocab.vocabulary.tokenizers.load import Style, some, tokenizer_style

TokenKind = Literal["word_start", "continuation", "byte", "special"]

#: Roles of well-known chat tokens, beside those that the tokenizer's own configuration declares.
CHAT_ROLES: Mapping[str, str] = {
    "<|im_start|>": "turn_start",
    "<start_of_turn>": "turn_start",
    "<|im_end|>": "turn_end",
    "<end_of_turn>": "turn_end",
    "<|eot_id|>": "turn_end",
    "<|eom_id|>": "message_end",
    "<|start_header_id|>": "header_start",
    "<|end_header_id|>": "header_end",
    "[INST]": "instruction_start",
    "[/INST]": "instruction_end",
    "[TOOL_CALLS]": "tool_call_start",
    "<tool_call>": "tool_call_start",
    "<|python_tag|>": "tool_call_start",
    "<|fim_prefix|>": "fim_prefix",
    "<fim_prefix>": "fim_prefix",
    "<|fim_middle|>": "fim_middle",
    "<fim_middle>": "fim_middle",
    "<|fim_suffix|>": "fim_suffix",
    "<fim_suffix>": "fim_suffix",
}
#: A token that plays several roles is known by the first of these.
ROLE_ORDER = ("bos", "eos", "unk", "pad", "cls", "sep", "mask")
BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True, slots=True)
class CanonicalToken:
    """One token: its kind, the bytes it stands for, its role if special, its own spelling.

    ``byte``: a ``<0xNN>`` token, or a byte-level token that is no text by itself (part of a
    character, or a control character). ``word_start``: data begins with a space. A special token's
    ``data`` is its spelling, and no part of its identity; ``role`` is None where none is declared.
    """

    kind: TokenKind
    data: bytes
    role: str | None
    string: str
    #: Whether the user has said its role.
    declared: bool = False

    @property
    def identity(self) -> tuple[str, bytes | str] | None:
        """Its bytes or, for a special token, its role, if it has one."""
        if self.kind == "special":
            return None if self.role is None else ("role", self.role)
        return ("bytes", self.data)


def token_roles(
    tokenizer: PreTrainedTokenizerFast, roles: Mapping[str, str] | None
) -> dict[int, str | None]:
    """Return the special tokens by id, each with its role or None.

    Roles come from ``roles`` (spelling to role) first, then from the tokenizer's own configuration
    (bos, eos, unk, pad, cls, sep, mask), then from :data:`CHAT_ROLES`.
    """
    role_of: dict[int, str | None] = {}
    for number, token in tokenizer.added_tokens_decoder.items():
        if token.special:
            role_of[number] = CHAT_ROLES.get(token.content)
    for number in tokenizer.all_special_ids:
        role_of.setdefault(number, None)
    for role in reversed(ROLE_ORDER):
        own = getattr(tokenizer, f"{role}_token_id", None)
        if own is not None:
            role_of[own] = role
    for string, role in (roles or {}).items():
        named = tokenizer.get_vocab().get(string)
        if named is None:
            raise RevocabError(
                f"role {role!r}: tokenizer {tokenizer.name_or_path} has no token {string!r}"
            )
        role_of[named] = role
    return role_of


def special_and_added(tokenizer: PreTrainedTokenizerFast) -> set[int]:
    return {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}


def strings_by_id(tokenizer: PreTrainedTokenizerFast) -> list[str]:
    """Return every token's spelling, indexed by id.

    Raises :class:`RevocabError` unless the ids are 0, 1, 2 … with one token each: otherwise rows of
    an embedding matrix would have no token, or two.
    """
    vocabulary = tokenizer.get_vocab()
    strings: list[str | None] = [None] * (max(vocabulary.values(), default=-1) + 1)
    double = []
    for string, number in vocabulary.items():
        if strings[number] is not None:
            double.append(number)
        strings[number] = string
    holes = [number for number, string in enumerate(strings) if string is None]
    name = tokenizer.name_or_path or "tokenizer"
    problems = []
    if double:
        problems.append(
            f"{name}: ids with two tokens: {some(sorted({*double}))}; give each token its own id"
        )
    if holes:
        problems.append(
            f"{name}: {len(vocabulary)} tokens but ids up to {len(strings) - 1}; ids without a"
            f" token: {some(holes)}; add tokens for them, or renumber"
        )
    if not vocabulary:
        problems.append(f"{name}: the vocabulary is empty")
    refuse(problems)
    return [string for string in strings if string is not None]


def _text_token(data: bytes, string: str) -> CanonicalToken:
    kind: TokenKind = "word_start" if data.startswith(b" ") else "continuation"
    return CanonicalToken(kind, data, None, string)


def _canonical(style: Style, string: str, prefix: str) -> CanonicalToken:
    """Return a plain token; ``prefix`` marks continuations in a WordPiece vocabulary."""
    data, is_byte = string.replace("▁", " ").encode(), False
    if style == "wordpiece":
        inside = prefix and string.startswith(prefix) and string != prefix
        data = string.removeprefix(prefix).encode() if inside else b" " + string.encode()
    elif style == "byte_level":
        spelt = from_byte_level(string)
        data = string.encode() if spelt is None else spelt
        try:
            text = data.decode()
            is_byte = spelt is not None and len(data) == 1 and not text.isprintable()
        except UnicodeDecodeError:
            is_byte = True
    elif style == "byte_fallback" and (match := BYTE_TOKEN.fullmatch(string)):
        data, is_byte = bytes([int(match[1], 16)]), True
    return CanonicalToken("byte", data, None, string) if is_byte else _text_token(data, string)


def canonical_vocabulary(
    tokenizer: PreTrainedTokenizerFast, roles: Mapping[str, str] | None = None
) -> list[CanonicalToken]:
    """Return the canonical form of every token, indexed by id; as long as ``len(tokenizer)``.

    ``roles`` maps spellings of further special tokens to roles (see :func:`token_roles`). Raises
    :class:`RevocabError` for vocabularies with holes, two tokens on an id, or of another family.
    """
    style = tokenizer_style(tokenizer)
    strings = strings_by_id(tokenizer)
    special, declared = token_roles(tokenizer, roles), roles or {}
    added = tokenizer.added_tokens_decoder
    prefix = getattr(tokenizer.backend_tokenizer.model, "continuing_subword_prefix", None) or ""
    tokens = []
    for number, string in enumerate(strings):
        if number in special:
            role = special[number]
            tokens.append(
                CanonicalToken("special", string.encode(), role, string, string in declared)
            )
        elif number in added and not BYTE_TOKEN.fullmatch(string):
            # Added tokens are matched in the text itself, so their spelling is their text.
            tokens.append(_text_token(string.encode(), string))
        else:
            tokens.append(_canonical(style, string, prefix))
    return tokens


#: ``utf8``: bytes that no text holds. ``segmentation``: merges or scores cut the token's own text.
#: ``text``: normaliser, word cutting or another token of the same text keep it from being produced.
Reason = Literal["utf8", "segmentation", "text"]

#: What is put before and after a token's text until the token comes out.
CONTEXTS = (
    ("", ""), ("\n", ""), ("\n", "\n"), (".", ""), ("a", ""), ("", "a"), ("1", ""), ("(", ")"),
    ("\u00e0", ""), (" ", ""), ("", " "), (" ", " "), ("a ", ""), ("_", "_"),
)  # fmt: skip
#: How many of the shortest word starts WordPiece's continuations are tried after.
WORD_STARTS = 64


def occurs_in_utf8(data: bytes) -> bool:
    for before in (b"", b"\xc3", b"\xe1", b"\xe1\x80", b"\xf1", b"\xf1\x80", b"\xf1\x80\x80"):
        try:
            codecs.getincrementaldecoder("utf-8")().decode(before + data)
        except UnicodeDecodeError:
            continue
        return True
    return False


def _contexts(tokens: list[CanonicalToken], style: str) -> Iterator[tuple[str, str]]:
    if style in ("byte_fallback", "marker"):
        # These put a word start before every text: a line end keeps it away from the token.
        yield "\n", ""
    yield from CONTEXTS
    if style == "wordpiece":
        starts = sorted(
            {token.data[1:].decode() for token in tokens if token.kind == "word_start"},
            key=lambda start: (len(start), start),
        )
        yield from ((start, "") for start in starts[:WORD_STARTS])


def unreachable(
    tokenizer: PreTrainedTokenizerFast, tokens: list[CanonicalToken]
) -> dict[int, Reason]:
    """Return the ids that no text is encoded to, each with the reason, ascending.

    ``tokens``: the tokenizer's canonical vocabulary. Special and added tokens are matched in the
    text itself and are left out. Partial characters are held reachable if valid UTF-8 holds them.
    """
    from tokenizers import Tokenizer

    style = tokenizer_style(tokenizer)
    backend = tokenizer.backend_tokenizer
    added = tokenizer.added_tokens_decoder
    reasons: dict[int, Reason] = {}
    texts: dict[int, str] = {}
    cut: list[int] = []  # ids whose own segmentation is still to be looked at
    for number, token in enumerate(tokens):
        if token.kind == "special" or number in added:
            continue
        try:
            texts[number] = token.data.decode()
        except UnicodeDecodeError:
            if not occurs_in_utf8(token.data):
                reasons[number] = "utf8"
            elif style == "byte_level":
                cut.append(number)
    # Nearly all tokens come out of their own text, without the space that the tokenizer adds.
    alone = {n: text.removeprefix(" " * (style != "byte_level")) for n, text in texts.items()}
    left = _not_produced(backend, alone)
    # A byte-fallback token stands for a character that the model does not know: no merges.
    cut += [n for n in left if style == "byte_level" or tokens[n].kind != "byte"]
    if style != "wordpiece":
        spellings = {n: tokens[n].string for n in cut}
        lost = _not_produced(Tokenizer(backend.model), spellings)
        reasons |= dict.fromkeys(lost, "segmentation")
    for before, after in _contexts(tokens, style):
        left = _not_produced(
            backend, {n: before + texts[n] + after for n in left if n not in reasons}
        )
    reasons |= dict.fromkeys(left, "text")
    return dict(sorted(reasons.items()))


def _not_produced(backend: Any, texts: dict[int, str]) -> list[int]:
    if not texts:
        return []
    encoded = backend.encode_batch_fast(list(texts.values()), add_special_tokens=False)
    return [n for n, encoding in zip(texts, encoded, strict=True) if n not in encoding.ids]
