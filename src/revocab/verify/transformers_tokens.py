"""Tokens by transformers, of any version: imports nothing of ours, so that it runs elsewhere.

``python transformers_tokens.py ASKED TOLD``, with the paths of a request and of its answers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

CLASSES = ("AutoTokenizer", "PreTrainedTokenizerFast")


def answers(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what each class makes of the texts and ids, or why it does not."""
    return [answer(name, request) for name in CLASSES]


def answer(name: str, request: dict[str, Any]) -> dict[str, Any]:
    import transformers

    named = {"name": f"{transformers.__version__} {name}"}
    try:
        options = {"trust_remote_code": False} if name == "AutoTokenizer" else {}
        tokenizer: Any = getattr(transformers, name).from_pretrained(request["folder"], **options)
        ids = [
            tokenizer(text, add_special_tokens=special)["input_ids"]
            for text, special in request["texts"]
        ]
        decoded = [tokenizer.decode(ids, skip_special_tokens=True) for ids in request["decode"]]
    # The loader raises many unrelated types.
    except Exception as error:
        return {**named, "error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
    return {**named, "ids": ids, "decoded": decoded}


if __name__ == "__main__":
    asked, told = map(Path, sys.argv[1:])
    request = json.loads(asked.read_text(encoding="utf-8"))
    told.write_text(json.dumps(answers(request)), encoding="utf-8")
