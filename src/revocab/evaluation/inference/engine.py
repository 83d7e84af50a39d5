"""What an inference engine is, and the registry that finds the ones in ``engines/``.

The options of an experiment name engines, so nothing here or at the top of an engine's file
imports torch, or :mod:`revocab.evaluation.options`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol

from revocab.closed import look_up
from revocab.device import Checkpoint
from revocab.evaluation.inference.decoding import Output, TextGenerator
from revocab.evaluation.inference.environment import Environment
from revocab.extensions import found_in

#: What an engine may do: the parts of ``evaluation`` that run one.
Part = Literal["generation", "multiple_choice", "efficiency"]


class TimedModel(Protocol):
    """A :class:`TextGenerator` that also writes a fixed number of tokens, whatever they are."""

    context_length: int

    def run(self, prompts: Sequence[list[int]], new_tokens: int) -> float:
        """Return the seconds to read the prompts together and write ``new_tokens`` after each."""

    def generate(
        self, prompts: Sequence[list[int]], max_new_tokens: int, stop: str | None
    ) -> list[Output]:
        """As of :class:`TextGenerator`: raises for logits that are not finite."""

    def close(self) -> None:
        """Free the memory."""


class ChoiceModel(Protocol):
    """One loaded checkpoint as the harness has it (``lm_eval.api.model.LM``), with our counts."""

    #: Of :func:`revocab.vocabulary.tokenizers.encoding.load_prompt_tokenizer`: it appends nothing.
    tokenizer: Any
    #: Whether texts get the tokenizer's own special tokens; None: as the tokenizer does it.
    add_bos_token: bool | None
    #: Requests longer than the context, which lost their beginning.
    truncated: int

    def loglikelihood(
        self, requests: Sequence[Any], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Return (log-likelihood, greedy) per request: finite, or :class:`RevocabError`."""

    def close(self) -> None:
        """Free the memory."""


@dataclass(frozen=True)
class Engine:
    """A way to run a model: one file in ``engines/``, named after it, with one object ``ENGINE``.

    ``generation``, ``multiple_choice`` and ``efficiency`` load a checkpoint for that part of
    ``evaluation``; None: the engine does not do that. For generation and efficiency the second
    argument is the most tokens of a sequence, prompt included; for multiple choice it is
    ``long_prompts``, as of :func:`revocab.evaluation.inference.refusals.refuse_long`.
    """

    name: str
    #: Distributions whose versions are recorded with what it computes.
    libraries: tuple[str, ...]
    generation: Callable[[Checkpoint, int], TextGenerator] | None = None
    multiple_choice: Callable[..., ChoiceModel] | None = None
    efficiency: Callable[[Checkpoint, int], TimedModel] | None = None
    #: Where its libraries are; None: where everything else is.
    environment: Environment | None = None
    #: Whether it can do more than greedy decoding: beam search and drawing tokens.
    decodes: bool = False
    #: What ``evaluation.multiple_choice`` and its tables call it; None: by its name.
    harness_name: str | None = None

    @property
    def module(self) -> str:
        return f"revocab.evaluation.inference.engines.{self.name}"

    def called(self, part: Part) -> str:
        return self.harness_name or self.name if part == "multiple_choice" else self.name


@cache
def engines() -> dict[str, Engine]:
    from revocab.evaluation.inference import engines as package

    return found_in(package, "ENGINE")


def engines_for(part: Part) -> dict[str, Engine]:
    return {engine.called(part): engine for engine in engines().values() if getattr(engine, part)}


def choices_for(part: Part, *others: str) -> Any:
    return Literal[(*others, *engines_for(part))]


def engine_called(name: str, part: Part) -> Engine:
    return look_up("--engine", name, engines_for(part), f"engine for {part}")


def decoding_engines() -> list[str]:
    return [name for name, engine in engines_for("generation").items() if engine.decodes]


def choose_engine(name: str, part: Part) -> Engine:
    """Return the engine of that name, which imports here.

    Raises :class:`RevocabError` for one that is unknown, cannot do the part or does not import.
    """
    engine = engine_called(name, part)
    if engine.environment is not None:
        engine.environment.require("--engine", name, _everywhere(part))
    return engine


def environment_of(name: str, part: Part) -> Environment | None:
    """Return where jobs of a part run with that engine; None: where everything else does."""
    return engine_called(name, part).environment


def elsewhere(name: str) -> str | None:
    """Return the Python that has what an engine (by a name of any part) needs; None: this one.

    Raises :class:`RevocabError` where the engine's variable names none.
    """
    for engine in engines().values():
        if name == engine.name and engine.environment and not engine.environment.is_here():
            return engine.environment.installed()
    return None


def interpreter(name: str, part: Part, here: str) -> str:
    """Return the Python of jobs of a part with that engine: ``here``, or its environment's.

    Raises :class:`RevocabError` where the environment is not there.
    """
    environment = environment_of(name, part)
    if environment is None:
        return here
    return environment.python(f"evaluation.{part}.engine", _everywhere(part))


def _everywhere(part: Part) -> list[str]:
    """Return the names of the engines for a part that need no environment of their own."""
    return [name for name, engine in engines_for(part).items() if engine.environment is None]
