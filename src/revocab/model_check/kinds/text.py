"""What text loses or gains as it becomes tokens: bytes without a token, tokens put behind it."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.model_check.kind import TOKENIZER, Kind, Subject, fault
from revocab.models.finding import Finding, some
from revocab.tokenizers.encoding import appended_tokens, text_encoder
from revocab.tokenizers.unseen import NEVER, Coverage


def appended(subject: Subject) -> Iterator[Finding]:
    if not subject.has(TOKENIZER):
        return
    ids = appended_tokens(subject.tokenizer)
    if ids:
        yield fault("appends-tokens", listed=subject.listed(ids))


def without_token(subject: Subject) -> Iterator[Finding]:
    if not subject.has(TOKENIZER):
        return
    coverage = Coverage(text_encoder(subject.tokenizer.backend_tokenizer))
    missing = coverage.missing_bytes
    lost = [byte for byte in missing if byte not in NEVER]
    vanish = coverage.loses_characters or coverage.unknown_id is None
    effect = "text with them loses them without a trace" if vanish else "they become unknown tokens"
    if lost:
        yield fault(
            "bytes-without-token",
            missing=len(missing),
            n=len(lost),
            listed=some([f"0x{byte:02X}" for byte in lost], 24),
            effect=effect,
        )
    elif coverage.loses_characters:
        yield fault("characters-without-token")


KIND = Kind("text", (appended, without_token))
