"""The tokenizer that transformers' AutoTokenizer makes of a folder.

transformers 5 builds the pipeline of some classes anew, and of some model types whatever the
tokenizer's class (``MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS``): words are then cut as those do.
"""

from __future__ import annotations

from collections.abc import Iterator

from revocab.model_check.kind import TOKENIZER, TOKENIZER_CONFIG, Kind, Subject
from revocab.models.finding import Finding
from revocab.models.load import loading, quiet
from revocab.tokenizers.load import other_class


def same_ids(subject: Subject) -> Iterator[Finding]:
    if not subject.has(TOKENIZER):
        return
    with quiet(), loading(subject.path, Exception):
        other = other_class(subject.path, subject.tokenizer)
    if other:
        yield Finding(
            "auto-class", "warning", other,
            "transformers and vLLM read other tokens than Revocab, for which the file counts",
            "if the model was trained on the file's tokens, set tokenizer_class of"
            f" {TOKENIZER_CONFIG} to PreTrainedTokenizerFast; a model type whose own class counts"
            " all the same needs a tokenizer that extends or optimises its own",
        )  # fmt: skip


KIND = Kind("auto_class", (same_ids,), quick=True)
