"""What a runtime is: something that loads a folder or GGUF and makes tokens, text and logits."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError, ended
from revocab.evaluation.inference.engine import Environment
from revocab.extensions import found_in


class Missing(RevocabError):
    """A runtime that is not on this machine, or has nothing to load; says how to get it."""


@dataclass(frozen=True)
class Expected:
    """A text with its ids, and the text that they decode to without special tokens."""

    text: str
    ids: list[int]
    decoded: str
    #: Whether the tokenizer adds its own tokens (bos); chat templates write these themselves.
    special: bool = True


@dataclass(frozen=True)
class Asked:
    """What every runtime is asked: the ids of texts, and the texts and logits of ids."""

    folder: Path
    texts: Sequence[Expected]
    gguf: Path | None = None
    #: Ids, and the positions whose logits are asked for.
    logits: Sequence[tuple[list[int], list[int]]] = ()

    @property
    def request(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder.absolute()),
            "texts": [[entry.text, entry.special] for entry in self.texts],
            "decode": [entry.ids for entry in self.texts],
            "logits": list(self.logits),
        }


@dataclass(frozen=True)
class Answer:
    """What one way to load it says, or why it does not load."""

    #: The version of the library and, where it has several ways, which.
    name: str
    ids: Sequence[Sequence[int]] = ()
    decoded: Sequence[str] = ()
    #: A row of the vocabulary for each position asked for; none: it computes no logits.
    logits: Sequence[Sequence[float]] = ()
    #: Whether rows are log-probabilities.
    normalised: bool = False
    #: The largest difference of logits that rounding explains, as a part of the largest logit.
    rounding: float = 1e-4
    error: str | None = None


@dataclass(frozen=True)
class Runtime:
    """Asks one runtime; raises :class:`Missing` where it is not there."""

    name: str
    ask: Callable[[Asked], list[Answer]]


@cache
def runtimes() -> Mapping[str, Runtime]:
    import revocab.product.verify.runtimes as package

    return found_in(package, "RUNTIME")


def ask_there(
    environment: Environment, words: Sequence[str], request: Mapping[str, Any]
) -> list[Answer]:
    """Run Python of an environment of its own with the paths of a request and of its answers.

    Raises :class:`Missing` where there is no such environment, :class:`RevocabError` if it fails.
    """
    python = environment.installed()
    if python is None:
        raise Missing(
            f"run '{environment.install}', or name an interpreter in {environment.variable}"
            f" ({environment.docs})"
        )
    with tempfile.TemporaryDirectory() as folder:
        asked, answer_file = Path(folder, "asked.json"), Path(folder, "told.json")
        asked.write_text(json.dumps(request), encoding="utf-8")
        done = subprocess.run(
            [python, *words, asked, answer_file], capture_output=True, text=True, check=False
        )
        if not answer_file.is_file():
            raise RevocabError(f"{python}: {ended(done.returncode, done.stderr)}")
        return [Answer(**answer) for answer in json.loads(answer_file.read_text(encoding="utf-8"))]
