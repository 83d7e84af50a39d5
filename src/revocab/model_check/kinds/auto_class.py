"""The tokenizer that transformers' AutoTokenizer makes of a folder.

transformers 5 builds the pipeline of some classes anew, and of some model types whatever the
tokenizer's class (``MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS``): words are then cut as those do.
"""

from __future__ import annotations

from collections.abc import Iterator

from revocab.model_check.kind import TOKENIZER, Kind, Subject, fault
from revocab.models.finding import Finding
from revocab.models.load import loading, quiet
from revocab.tokenizers.load import other_class


def same_ids(subject: Subject) -> Iterator[Finding]:
    if not subject.has(TOKENIZER):
        return
    with quiet(), loading(subject.path, Exception):
        other = other_class(subject.path, subject.tokenizer)
    if other:
        yield fault("auto-class", what=other)


KIND = Kind("auto_class", (same_ids,), quick=True)
