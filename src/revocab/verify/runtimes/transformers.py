"""The installed transformers: what its Auto class makes of a folder, and the fast class itself."""

from __future__ import annotations

from revocab.verify.runtime import Answer, Asked, Runtime
from revocab.verify.transformers_tokens import answers


def ask(asked: Asked) -> list[Answer]:
    return [Answer(**answer) for answer in answers(asked.request)]


RUNTIME = Runtime("transformers", ask)
