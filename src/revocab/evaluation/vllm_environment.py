"""Where vLLM is. The workflow asks at its start, so nothing heavy is imported here."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from revocab.errors import RevocabError

#: Where ``make vllm`` puts the environment, and the variable that names another interpreter.
ENVIRONMENT = Path(".venv-vllm/bin/python")
VARIABLE = "REVOCAB_VLLM_PYTHON"


def vllm_python(key: str, other: str) -> str:
    """Return the interpreter that has vLLM: ``REVOCAB_VLLM_PYTHON``, ``.venv-vllm``, or this one.

    Raises :class:`RevocabError` where none of them has it, naming the configuration ``key`` that
    asks for vLLM and the ``other`` engine that it may name.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if Path(named).is_file():
            return named
        raise RevocabError(f"{VARIABLE}: {named!r} is not an interpreter; unset it or 'make vllm'")
    if ENVIRONMENT.is_file():
        return str(ENVIRONMENT)
    if find_spec("vllm"):
        return sys.executable
    raise RevocabError(
        f"{key}: vllm needs its own environment, and {ENVIRONMENT} is not there; run 'make vllm', "
        f"name an interpreter in {VARIABLE}, use --sdm conda, or set {key}: {other}"
    )


def require_vllm(other: str) -> None:
    """Raise :class:`RevocabError` unless vLLM imports here; ``other`` is the engine to take else.

    vLLM reads how much to say when it is imported, so this comes before any other import of it.
    """
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    try:
        import vllm  # noqa: F401
    except ImportError as error:
        raise RevocabError(
            f"--engine vllm: it cannot be imported by {Path(sys.executable).name} ({error}); "
            "make its environment with 'make vllm' and run this script with its Python "
            f"(docs/vllm.md), or use --engine {other}"
        ) from None
