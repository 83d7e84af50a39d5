"""The tokenizer that transformers' AutoTokenizer makes of a folder.

Of some model types transformers 5 builds its own tokenizer, whatever ``tokenizer_config.json`` says
(``MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS``): words are then cut as those models do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from revocab.model_check.kind import TOKENIZER, Kind, Subject
from revocab.models.finding import Finding
from revocab.models.load import loading, quiet
from revocab.tokenizers.golden_ids import fixed_texts
from revocab.tokenizers.load import says_plain


def same_ids(subject: Subject) -> Iterator[Finding]:
    if not subject.has(TOKENIZER):
        return
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer

    texts = fixed_texts()
    auto: Any = subject.tokenizer
    with quiet(), loading(subject.path, Exception):
        plain = Tokenizer.from_file(str(subject.path / TOKENIZER))
        if says_plain(subject.path):
            auto = AutoTokenizer.from_pretrained(
                subject.path, trust_remote_code=False, local_files_only=True
            )
    others = [
        text
        for text in texts
        if auto.encode(text, add_special_tokens=False)
        != plain.encode(text, add_special_tokens=False).ids
    ]
    if others:
        made = type(auto).__name__
        yield Finding(
            "auto-class",
            "warning",
            f"transformers' AutoTokenizer makes a {made}, which cuts {len(others)} of"
            f" {len(texts)} texts differently from {TOKENIZER}, such as {others[0]!r}",
            "programs that load the folder so, vLLM among them, read other tokens than it was"
            " trained on",
            "give a model of this type a tokenizer that cuts words as that class does: one that"
            " extends or optimises its own",
        )


KIND = Kind("auto_class", (same_ids,), quick=True)
