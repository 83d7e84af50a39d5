"""What text loses or gains as it becomes tokens: bytes without a token, tokens put behind it."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.model_check.kind import TOKENIZER, Kind, Subject
from revocab.models.finding import Finding, some, some_tokens
from revocab.tokenizers.encoding import appended_tokens, text_encoder
from revocab.tokenizers.unseen import NEVER, Coverage


def appended(subject: Subject) -> Iterator[Finding]:
    if not subject.has(TOKENIZER):
        return
    ids = appended_tokens(subject.tokenizer)
    if ids:
        yield Finding(
            "appends-tokens", "warning",
            f"the post-processor of {TOKENIZER} puts {some_tokens(ids, subject.tokens)} behind"
            " every text",
            "programs that do not take it off again, vLLM among them, end prompts with it and score"
            " it in place of an answer's last token (revocab leaves it out)",
            f"leave it out of the post-processor of {TOKENIZER}, or add_eos_token of"
            " tokenizer_config.json; programs that train write it themselves",
        )  # fmt: skip


def without_token(subject: Subject) -> Iterator[Finding]:
    if not subject.has(TOKENIZER):
        return
    coverage = Coverage(text_encoder(subject.tokenizer.backend_tokenizer))
    missing = coverage.missing_bytes
    lost = [byte for byte in missing if byte not in NEVER]
    vanish = coverage.loses_characters or coverage.unknown_id is None
    effect = "text with them loses them without a trace" if vanish else "they become unknown tokens"
    if lost:
        yield Finding(
            "bytes-without-token", "warning",
            f"{len(missing)} of 256 bytes have no token, of which text can hold {len(lost)}:"
            f" {some([f'0x{byte:02X}' for byte in lost], 24)}",
            effect,
            "clean the text of them, or give them tokens",
        )  # fmt: skip
    elif coverage.loses_characters:
        yield Finding(
            "characters-without-token", "warning",
            "there is no token for unknown characters and none for bytes",
            "characters that are not in the vocabulary vanish from text without a trace",
            "give the model of the tokenizer an unk_token, or byte_fallback with tokens for all"
            " bytes",
        )  # fmt: skip


KIND = Kind("text", (appended, without_token))
