"""transformers 4, in an environment of its own: the same two classes."""

from __future__ import annotations

from pathlib import Path

from revocab.evaluation.inference.environment import Environment
from revocab.verify import transformers_tokens
from revocab.verify.runtime import Answer, Asked, Runtime, ask_there

ENVIRONMENT = Environment(
    "transformers4", "transformers", install="make transformers4", docs="docs/ship.md"
)


def ask(asked: Asked) -> list[Answer]:
    # -P: the modules beside the script are not to be imported.
    script = str(Path(transformers_tokens.__file__))
    return ask_there(ENVIRONMENT, ["-P", script], asked.request)


RUNTIME = Runtime("transformers4", ask)
