"""Which tokens a tokenizer can never produce: rows that no text will ever train or use.

Whether merges (or Unigram scores) lead to a token is exact: if a token's own text is segmented
otherwise, it is so inside any other text too. Whether cutting into words, or the normaliser, keeps
a token's text whole is tried out in the contexts of :data:`CONTEXTS`.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any, Literal

from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.vocabulary.tokenizers.canonical import CanonicalToken
from revocab.vocabulary.tokenizers.load import tokenizer_style

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


def describe_unreachable(
    tokenizer: PreTrainedTokenizerFast, tokens: list[CanonicalToken], shown: int
) -> dict[str, Any]:
    reason_of = unreachable(tokenizer, tokens)
    reasons = list(reason_of.values())
    return {
        "count": len(reason_of),
        "reasons": {name: reasons.count(name) for name in ("utf8", "segmentation", "text")},
        "examples": [
            {"id": number, "token": tokens[number].string, "reason": reason}
            for number, reason in list(reason_of.items())[:shown]
        ],
    }
