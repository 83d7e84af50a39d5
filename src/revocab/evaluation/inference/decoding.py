"""What all engines share: prompts as token ids, text up to the stop of a task, and what is refused.

An engine takes prompts as token ids, so that all see the very same input; what it generates is read
here. Weights are checked when a model is loaded (:mod:`revocab.models.load`), so what is NaN or
infinite here has overflowed on the way.
"""

from __future__ import annotations

import gc
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from revocab.closed import Closed
from revocab.errors import RevocabError
from revocab.limits import Seed, Share, Size, Temperature, Times

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from revocab.evaluation.inference.chat_prompts import ChatFormat

Finish = Literal["eos", "blank_line", "stop", "length", "prompt_too_long", "chosen"]
#: The stop that has a name of its own.
BLANK_LINE = "\n\n"


class Decoding(Closed):
    """How the next tokens are chosen: the likeliest, unless something is given."""

    beams: Times = Field(default=1, description="sequences that beam search keeps; 1: greedy")
    temperature: Temperature | None = Field(
        default=None, description="draw tokens at this temperature; default: take the best"
    )
    top_p: Share | None = Field(
        default=None, description="draw among the likeliest tokens of this probability"
    )
    top_k: Size | None = Field(
        default=None, description="draw among so many of the likeliest tokens"
    )
    seed: Seed = Field(default=17, description="seed of each prompt's draws")

    @model_validator(mode="after")
    def _draws(self) -> Decoding:
        if self.temperature is None and (self.top_p is not None or self.top_k is not None):
            raise ValueError("top_p and top_k draw tokens; give a temperature, or leave them out")
        return self

    @property
    def draws(self) -> bool:
        return self.temperature is not None


GREEDY = Decoding()


@dataclass(frozen=True)
class Output:
    """Text up to the stop, stripped; ``tokens`` counts all that were generated."""

    text: str
    tokens: int
    finish_reason: Finish
    #: The ids that were generated, an end token included.
    ids: Sequence[int] = field(default=(), compare=False)


class TextGenerator(ABC):
    """One loaded checkpoint that continues prompts."""

    #: Whatever holds the weights.
    model: Any
    #: Of :func:`revocab.vocabulary.tokenizers.encoding.load_prompt_tokenizer`: it appends nothing.
    tokenizer: PreTrainedTokenizerFast
    #: Most tokens of a sequence that the model takes.
    context_length: int
    #: Tokens that end an output (:func:`end_tokens`).
    eos: list[int]
    #: The chat template that prompts go through; None: they are plain text.
    chat: ChatFormat | None = None
    #: Otherwise than greedily only by an engine that says it can.
    decoding: Decoding = GREEDY
    #: Set before the first prompts, where it is known: the most tokens of one with its answer, and
    #: how many there are. An engine may take memory by it.
    expected: tuple[int, int] | None = None

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a prompt, beginning-of-text mark included where it has one."""
        return self.tokenizer(text)["input_ids"]

    def encode_text(self, text: str) -> list[int]:
        """Return the token ids of a text after a label and a space, without special tokens."""
        return self.tokenizer(f" {text}", add_special_tokens=False)["input_ids"] if text else []

    @abstractmethod
    def generate(
        self, prompts: Sequence[list[int]], max_new_tokens: int, stop: str | None
    ) -> list[Output]:
        """Return one output per prompt, in order (:func:`finished` makes it of token ids).

        ``stop`` is the text that ends an output; none: end tokens alone do. Raises
        :class:`RevocabError` where logits are not finite.
        """

    def log_probabilities(
        self, context: list[int], continuations: Sequence[list[int]]
    ) -> list[float]:
        """Return the summed log-probability of each continuation, of as many tokens as the others.
        Raises :class:`RevocabError` where it is not finite, and of an engine without this.
        """
        raise RevocabError(
            f"{type(self).__name__} has no log-probabilities of given text, which this task is"
            " scored by; take the engine transformers"
        )

    def run(self, prompts: Sequence[list[int]], new_tokens: int) -> float:
        """Return the seconds to read prompts together and write ``new_tokens`` after each, whatever
        they are. Raises :class:`RevocabError` of an engine without this.
        """
        raise RevocabError(
            f"{type(self).__name__} cannot be timed, which efficiency needs; take the engine"
            " transformers"
        )

    def close(self) -> None:
        self.model = None
        gc.collect()


def end_tokens(generation_config: Any, tokenizer: Any) -> list[int]:
    """Return every token id that ends a text, as the model and its tokenizer name them; bos does,
    which a model that was trained on documents in a row writes where the next one begins.
    """
    ends = generation_config.eos_token_id
    ids = [*ends] if isinstance(ends, list) else [ends]
    ids += [generation_config.bos_token_id, tokenizer.eos_token_id, tokenizer.bos_token_id]
    return sorted({token for token in ids if token is not None})


def finished(ids: list[int], tokenizer: Any, eos: Sequence[int], stop: str | None) -> Output:
    """Return the output of generated ids: up to an end token, then up to the stop. Left to
    themselves, engines differ in what they write for a character whose bytes are cut off.
    """
    ended = next((at for at, token in enumerate(ids) if token in eos), None)
    written = ids if ended is None else ids[:ended]
    text = tokenizer.decode(written, skip_special_tokens=True)
    if stop is not None and stop in text:
        # A finished row is padded while the others of its batch go on; that is not output.
        reason: Finish = "blank_line" if stop == BLANK_LINE else "stop"
        return Output(text.split(stop, 1)[0].strip(), len(written), reason, written)
    if ended is not None:
        return Output(text.strip(), ended + 1, "eos", ids[: ended + 1])
    return Output(text.strip(), len(ids), "length", ids)


def beginning(tokenizer: Any, prompt: Sequence[int]) -> str:
    text = " ".join(tokenizer.decode(prompt[:60], skip_special_tokens=True).split())
    return f"the prompt beginning {text[:60]!r}"


# What is refused --------------------------------------------------------------------------------


def cause(dtype: Any) -> str:
    """Return why numbers overflowed, and the next step, for a torch dtype or its name."""
    name = str(dtype).removeprefix("torch.")
    if name == "float32":
        return (
            "its weights are finite, so numbers overflow even in float32: the checkpoint has"
            " diverged or is damaged; take another one"
        )
    wider = "bfloat16 or --dtype float32" if name == "float16" else "float32"
    return f"its weights are finite, so numbers overflow in dtype {name}; use --dtype {wider}"


def refuse_sums(
    values: Sequence[float], describe: Callable[[int], str], dtype: Any, what: str = "probabilities"
) -> None:
    """Raise :class:`RevocabError` if a sum of logarithms is not finite; ``describe`` names one."""
    broken = [i for i, value in enumerate(values) if not math.isfinite(value)]
    if broken:
        raise RevocabError(
            f"{len(broken)} of {len(values)} log-{what} are not finite, first that of"
            f" {describe(broken[0])}; {cause(dtype)}"
        )


def refuse_long(
    requests: Sequence[tuple[Any, list[int], list[int]]], longest: int, long_prompts: str
) -> int:
    """Return how many requests the harness will cut to ``longest`` tokens; with ``long_prompts``
    "error" any raises :class:`RevocabError`.
    """
    sizes = [len(context) + len(choice) for _, context, choice in requests]
    long = [i for i, size in enumerate(sizes) if size > longest]
    if long and long_prompts == "error":
        worst = max(long, key=sizes.__getitem__)
        text = " ".join(str((requests[worst][0] or [""])[0]).split())
        raise RevocabError(
            f"{len(long)} of {len(requests)} requests are longer than the {longest} tokens that "
            f"the model takes: up to {sizes[worst]} tokens, beginning {text[:60]!r}. Give fewer "
            "shots, leave the task out, or accept cut beginnings with "
            "evaluation.multiple_choice.long_prompts: cut (--long-prompts cut)"
        )
    return len(long)


class Refusing:
    """Mixed into a model of the harness: counts or refuses what it would cut, refuses NaN."""

    #: error or cut.
    long_prompts: str
    #: Most tokens of a request.
    longest: int
    #: In which the model computes.
    number_type: Any
    truncated = 0

    def loglikelihood(
        self, requests: Sequence[Any], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Score requests, with a progress bar only on a terminal."""
        quiet = disable_tqdm or not sys.stderr.isatty()
        answers = super().loglikelihood(requests, quiet)  # type: ignore[misc]

        def describe(i: int) -> str:
            request = requests[i]
            choice = request.args[1].strip()[:60]
            return f"item {request.doc_id} of {request.task_name} with {choice!r}"

        values = [value for value, _ in answers]
        refuse_sums(values, describe, self.number_type, "likelihoods")
        return answers

    def _loglikelihood_tokens(
        self, requests: Sequence[Any], disable_tqdm: bool = False, **options: Any
    ) -> list[tuple[float, bool]]:
        self.truncated += refuse_long(requests, self.longest, self.long_prompts)
        # vLLM's bar divides by zero where bars are off (TQDM_DISABLE).
        return super()._loglikelihood_tokens(  # type: ignore[misc]
            requests, disable_tqdm=True, **options
        )
