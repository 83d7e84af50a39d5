"""Tokens that no text reaches."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.model_check.kind import Kind
from revocab.model_check.subject import Subject
from revocab.models.finding import Finding, some_tokens
from revocab.tokenizers.canonical import BYTE_TOKEN

#: More than this share of the tokens is no leftover.
_MANY = 0.25


def check(subject: Subject) -> Iterator[Finding]:
    tokens = subject.tokens
    # Bytes are there for texts that have no other token, whether there are such texts or not.
    lost = [
        n
        for n, reason in subject.unreachable.items()
        if reason != "utf8" and not BYTE_TOKEN.fullmatch(tokens[n])
    ]
    if lost:
        yield Finding(
            "unreachable-tokens",
            "warning" if len(lost) > _MANY * len(subject.tokens) else "note",
            f"{len(lost):,} tokens that no text is cut into: {some_tokens(lost, subject.tokens)}",
            "their rows take room, and no training moves them",
            "leave them out of the next vocabulary (revocab tokenizer)",
        )


KIND = Kind("unreachable", (check,))
