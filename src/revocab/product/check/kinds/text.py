"""What text loses or gains as it becomes tokens, and where transformers cuts it otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.models.findings import Finding, some
from revocab.models.load import loading, quiet
from revocab.product.check.kind import TOKENIZER, Kind, Subject, fault
from revocab.vocabulary.tokenizers.encoding import appended_tokens, text_encoder
from revocab.vocabulary.tokenizers.load import other_class
from revocab.vocabulary.tokenizers.unseen import NEVER, Coverage


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


def same_ids(subject: Subject) -> Iterator[Finding]:
    """Yield what AutoTokenizer cuts otherwise: transformers 5 builds the pipeline of some classes
    anew, and of some model types whatever the tokenizer's class
    (``MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS``).
    """
    if not subject.has(TOKENIZER):
        return
    with quiet(), loading(subject.path, Exception):
        other = other_class(subject.path, subject.tokenizer)
    if other:
        yield fault("auto-class", what=other)


KIND = (
    Kind("text", (appended, without_token)),
    Kind("auto_class", (same_ids,), quick=True),
)
