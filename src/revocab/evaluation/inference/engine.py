"""What an inference engine is, where its libraries are, and those that there are in ``engines/``.

The options of an experiment name engines, and the workflow asks at its start for the Python that
runs them: nothing here or at the top of an engine's file imports torch, or
:mod:`revocab.evaluation.options`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol

from revocab.closed import look_up
from revocab.device import Checkpoint
from revocab.errors import RevocabError
from revocab.evaluation.inference.decoding import TextGenerator
from revocab.extensions import found_in

#: What an engine may do: the parts of ``evaluation`` that run one.
Part = Literal["generation", "multiple_choice", "efficiency"]


class ChoiceModel(Protocol):
    """One loaded checkpoint as the harness has it (``lm_eval.api.model.LM``), with our counts.

    Its ``loglikelihood`` gives finite numbers, or raises :class:`RevocabError`.
    """

    #: Of :func:`revocab.vocabulary.tokenizers.encoding.load_prompt_tokenizer`: it appends nothing.
    tokenizer: Any
    #: Whether texts get the tokenizer's own special tokens; None: as the tokenizer does it.
    add_bos_token: bool | None
    #: Requests longer than the context, which lost their beginning.
    truncated: int

    def close(self) -> None:
        """Free the memory."""


@dataclass(frozen=True)
class Environment:
    """Where libraries are that have an environment of their own: ``.venv-NAME``, that of the
    interpreter in ``REVOCAB_NAME_PYTHON``, or one that conda makes from ``envs/NAME.yaml``.
    """

    name: str
    #: Imports there, and nowhere else.
    module: str
    #: The command that makes it, and the page that tells more.
    install: str
    docs: str
    #: Variables that the module reads when it is imported; set unless they are.
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """Return the interpreter that ``install`` makes, below the current folder."""
        return Path(f".venv-{self.name}/bin/python")

    @property
    def variable(self) -> str:
        return f"REVOCAB_{self.name.upper().replace('-', '_')}_PYTHON"

    def installed(self) -> str | None:
        """Return the interpreter that the variable names, or the installed one, if any. Raises
        :class:`RevocabError` where the variable names none.
        """
        named = os.environ.get(self.variable)
        if named and not Path(named).is_file():
            raise RevocabError(
                f"{self.variable}: {named!r} is not an interpreter; unset it or {self.install!r}"
            )
        return named or (str(self.path) if self.path.is_file() else None)

    def is_here(self) -> bool:
        return find_spec(self.module) is not None

    def expected(self) -> str:
        """Return the interpreter that has the module, or where ``install`` would put it."""
        return self.installed() or (sys.executable if self.is_here() else str(self.path))

    def import_error(self) -> ImportError | None:
        """Import the module; return the error where this interpreter does not have it."""
        for name, value in self.variables.items():
            os.environ.setdefault(name, value)
        try:
            import_module(self.module)
        except ImportError as error:
            return error
        return None


@dataclass(frozen=True)
class Engine:
    """A way to run a model: one file in ``engines/``, named after it, with one object ``ENGINE``.

    ``generation``, ``multiple_choice`` and ``efficiency`` load a checkpoint for that part of
    ``evaluation``; None: the engine does not do that. For generation and efficiency the second
    argument is the most tokens of a sequence, prompt included; for multiple choice it is
    ``long_prompts``, as of :func:`revocab.evaluation.inference.decoding.refuse_long`.
    """

    name: str
    #: Distributions whose versions are recorded with what it computes.
    libraries: tuple[str, ...]
    generation: Callable[[Checkpoint, int], TextGenerator] | None = None
    multiple_choice: Callable[..., ChoiceModel] | None = None
    efficiency: Callable[[Checkpoint, int], TextGenerator] | None = None
    #: Where its libraries are; None: where everything else is.
    environment: Environment | None = None
    #: Whether it can do more than greedy decoding: beam search and drawing tokens.
    decodes: bool = False
    #: What ``evaluation.multiple_choice`` and its tables call it; None: by its name.
    harness_name: str | None = None

    @property
    def module(self) -> str:
        return f"revocab.evaluation.inference.engines.{self.name}"


@cache
def engines() -> dict[str, Engine]:
    from revocab.evaluation.inference import engines as package

    return found_in(package, "ENGINE")


def engines_for(part: Part) -> dict[str, Engine]:
    """Return the engines of a part by the names that it has for them."""
    by_harness = part == "multiple_choice"
    return {
        (engine.harness_name if by_harness else None) or engine.name: engine
        for engine in engines().values()
        if getattr(engine, part)
    }


def engine_called(name: str, part: Part) -> Engine:
    return look_up("--engine", name, engines_for(part), f"engine for {part}")


def choose_engine(name: str, part: Part) -> Engine:
    """Return the engine of that name, which imports here. Raises :class:`RevocabError` for one that
    is unknown, cannot do the part or does not import.
    """
    engine = engine_called(name, part)
    own = engine.environment
    if own is not None and (error := own.import_error()) is not None:
        raise RevocabError(
            f"--engine {name}: it cannot be imported by {Path(sys.executable).name} ({error}); make"
            f" its environment with {own.install!r} ({own.docs}) or name its Python in"
            f" {own.variable}, or use --engine {_everywhere(part)}"
        )
    return engine


def interpreter(name: str, part: Part, here: str) -> str:
    """Return the Python of jobs of a part with that engine: ``here``, or its environment's. Raises
    :class:`RevocabError` where the environment is not there.
    """
    own = engine_called(name, part).environment
    if own is None:
        return here
    if not own.installed() and not own.is_here():
        key = f"evaluation.{part}.engine"
        raise RevocabError(
            f"{key}: {own.module} needs its own environment, and {own.path} is not there; run "
            f"{own.install!r}, name an interpreter in {own.variable}, use --sdm conda, or set "
            f"{key}: {_everywhere(part)}"
        )
    return own.expected()


def _everywhere(part: Part) -> str:
    """Return the names of the engines for a part that need no environment of their own."""
    return " or ".join(n for n, engine in engines_for(part).items() if engine.environment is None)


def elsewhere(name: str) -> str | None:
    """Return the Python that has what an engine (by a name of any part) needs; None: this one.
    Raises :class:`RevocabError` where the engine's variable names none.
    """
    own = engines()[name].environment if name in engines() else None
    return own.installed() if own and not own.is_here() else None
