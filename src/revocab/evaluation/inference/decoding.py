"""Text, the same of every engine: token ids in, text up to the stop of a task out.

An engine takes prompts as token ids, so that all see the very same input; what it generates is read
here.
"""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Sequence
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
        """Return the token ids of a text that follows a label and a space, without special tokens.

        An empty text has none.
        """
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

    def close(self) -> None:
        self.model = None
        gc.collect()


def cut(text: str, stop: str | None) -> str:
    return (text if stop is None else text.split(stop, 1)[0]).strip()


def end_tokens(generation_config: Any, tokenizer: Any) -> list[int]:
    """Return every token id that ends a text, as the model and its tokenizer name them.

    So does bos: a model that was trained on documents one after another, each with bos before it,
    writes it where the next document begins.
    """
    named = generation_config.eos_token_id
    named = named if isinstance(named, list) else [named]
    named = [*named, generation_config.bos_token_id]
    ids = [*named, tokenizer.eos_token_id, tokenizer.bos_token_id]
    return sorted({token for token in ids if token is not None})


def finished(ids: list[int], tokenizer: Any, eos: Sequence[int], stop: str | None) -> Output:
    """Return the output of generated ids: up to an end token, then up to the stop.

    All engines' ids are read here: left to themselves they differ in what they write for a
    character whose bytes are cut off.
    """
    ended = next((at for at, token in enumerate(ids) if token in eos), None)
    written = ids if ended is None else ids[:ended]
    text = tokenizer.decode(written, skip_special_tokens=True)
    if stop is not None and stop in text:
        # A finished row is padded while the others of its batch go on; that is not output.
        reason: Finish = "blank_line" if stop == BLANK_LINE else "stop"
        return Output(cut(text, stop), len(written), reason, written)
    if ended is not None:
        return Output(cut(text, stop), ended + 1, "eos", ids[: ended + 1])
    return Output(cut(text, stop), len(ids), "length", ids)


def beginning(tokenizer: Any, prompt: Sequence[int]) -> str:
    text = " ".join(tokenizer.decode(prompt[:60], skip_special_tokens=True).split())
    return f"the prompt beginning {text[:60]!r}"
