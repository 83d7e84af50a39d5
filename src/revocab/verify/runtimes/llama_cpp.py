"""A GGUF in a real llama.cpp."""

from __future__ import annotations

from revocab.verify.llama import ask_llama
from revocab.verify.runtime import Answer, Asked, Missing, Runtime

#: As parts of the largest logit, by the type of most weights (``general.file_type``).
ROUNDING = {0: 1e-4, 1: 5e-3, 32: 3e-2}
#: Of quantised weights.
QUANTISED = 0.2


def ask(asked: Asked) -> list[Answer]:
    if asked.gguf is None:
        raise Missing("give --gguf FILE")
    output = ask_llama(
        asked.gguf,
        texts=[entry.text for entry in asked.texts],
        decode=[entry.ids for entry in asked.texts],
        logits=asked.logits,
    )
    ids = [
        output.framed(ids) if entry.special else ids
        for entry, ids in zip(asked.texts, output.texts, strict=True)
    ]
    rows = [row for rows in output.logits for row in rows]
    rounding = ROUNDING.get(output.file_type, QUANTISED)
    return [Answer(asked.gguf.name, ids, output.decoded, rows, rounding=rounding)]


RUNTIME = Runtime("llama.cpp", ask)
