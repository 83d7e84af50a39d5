"""What transformers' Auto class makes of a folder, and the fast class itself.

The installed version is asked, and transformers 4 in an environment of its own.
"""

from __future__ import annotations

from pathlib import Path

from revocab.evaluation.inference.engine import Environment
from revocab.product.verify import transformers_tokens
from revocab.product.verify.runtime import Answer, Asked, Runtime, ask_there

ENVIRONMENT = Environment(
    "transformers4", "transformers", install="make transformers4", docs="docs/ship.md"
)


def ask_installed(asked: Asked) -> list[Answer]:
    return [Answer(**answer) for answer in transformers_tokens.answers(asked.request)]


def ask_version_4(asked: Asked) -> list[Answer]:
    # -P: the modules beside the script are not to be imported.
    script = str(Path(transformers_tokens.__file__))
    return ask_there(ENVIRONMENT, ["-P", script], asked.request)


RUNTIME = (Runtime("transformers", ask_installed), Runtime("transformers4", ask_version_4))
