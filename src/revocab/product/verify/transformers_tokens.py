"""Tokens by transformers, of any version: imports nothing of ours, so that it runs elsewhere.

``python transformers_tokens.py REQUEST ANSWERS``, with the paths of a request and of its answers.
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
        ids = encoded(tokenizer, request["texts"])
        decoded = tokenizer.batch_decode(request["decode"], skip_special_tokens=True)
    # The loader raises many unrelated types.
    except Exception as error:
        return {**named, "error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
    return {**named, "ids": ids, "decoded": decoded}


def encoded(tokenizer: Any, texts: list[tuple[str, bool]]) -> list[list[int]]:
    """Return the ids of texts, each with or without the tokens that the tokenizer adds."""
    ids: dict[int, list[int]] = {}
    for special in (True, False):
        places = [at for at, (_, adds) in enumerate(texts) if adds == special]
        if places:
            batch = [texts[at][0] for at in places]
            ids |= zip(
                places, tokenizer(batch, add_special_tokens=special)["input_ids"], strict=True
            )
    return [ids[at] for at in range(len(texts))]


if __name__ == "__main__":
    request_file, answer_file = map(Path, sys.argv[1:])
    request = json.loads(request_file.read_text(encoding="utf-8"))
    answer_file.write_text(json.dumps(answers(request)), encoding="utf-8")
