"""Greedy generation with transformers or vLLM: the same token ids in, the same greedy text out.

An engine takes prompts as token ids, so that both see the very same input, and returns for each
the generated ids' text up to the first blank line.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from revocab.errors import RevocabError
from revocab.evaluation.checkpoint import choose_device
from revocab.evaluation.overflow import FiniteLogits
from revocab.evaluation.vllm_environment import require_vllm
from revocab.models.load import load_causal_lm
from revocab.tokenizers.load import load_tokenizer

Finish = Literal["eos", "blank_line", "length", "prompt_too_long"]
BLANK_LINE = "\n\n"


@dataclass(frozen=True)
class Output:
    """Text up to the first blank line, stripped; ``tokens`` counts all that were generated."""

    text: str
    tokens: int
    finish_reason: Finish


class Engine(Protocol):
    """One loaded checkpoint."""

    context_length: int

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a prompt, beginning-of-text mark included where it has one."""

    def encode_text(self, text: str) -> list[int]:
        """Return the token ids of a text that follows a label, without special tokens."""

    def generate(self, prompts: Sequence[list[int]], max_new_tokens: int) -> list[Output]:
        """Return one output per prompt, in order."""

    def close(self) -> None:
        """Free the memory."""


def choose_engine(name: str) -> str:
    """Return ``name``; for ``auto`` vllm where it imports and there is a GPU, else transformers.

    On a CPU starting vLLM costs more than it saves on the models that a CPU can hold; ``vllm`` asks
    for it all the same.
    """
    if name == "transformers" or (name == "auto" and choose_device("auto") == "cpu"):
        return "transformers"
    try:
        require_vllm("transformers")
    except RevocabError:
        if name == "vllm":
            raise
        return "transformers"
    return "vllm"


def cut(text: str) -> str:
    """Return ``text`` up to its first blank line, without space around it."""
    return text.split(BLANK_LINE, 1)[0].strip()


class TransformersEngine:
    """``model.generate`` on left-padded batches of prompts of like length."""

    def __init__(self, folder: Path, *, batch_size: int, device: str, dtype: str):
        self.batch_size = batch_size
        self.tokenizer = load_tokenizer(folder)
        self.model = load_causal_lm(folder, dtype=dtype, device=device)
        self.context_length = int(getattr(self.model.config, "max_position_embeddings", 2**31))
        self.eos = end_tokens(self.model.generation_config, self.tokenizer)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a prompt."""
        return self.tokenizer(text)["input_ids"]

    def encode_text(self, text: str) -> list[int]:
        """Return the token ids of a text that follows a label, without special tokens."""
        return text_tokens(self.tokenizer, text)

    def generate(self, prompts: Sequence[list[int]], max_new_tokens: int) -> list[Output]:
        """Return one output per prompt; longest prompts first, so that memory peaks at once."""
        order = sorted(range(len(prompts)), key=lambda i: -len(prompts[i]))
        outputs: list[Output | None] = [None] * len(prompts)
        for start in range(0, len(order), self.batch_size):
            chosen = order[start : start + self.batch_size]
            batch = self._generate_batch([prompts[i] for i in chosen], max_new_tokens)
            for i, output in zip(chosen, batch, strict=True):
                outputs[i] = output
        return outputs

    def _generate_batch(self, prompts: list[list[int]], max_new_tokens: int) -> list[Output]:
        import torch
        from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

        length = max(map(len, prompts))
        pad = self.eos[0] if self.eos else 0
        tokens = [[pad] * (length - len(prompt)) + prompt for prompt in prompts]
        mask = [[0] * (length - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        device = self.model.device
        # Built from nothing: a checkpoint's own generation settings may sample.
        settings = GenerationConfig(
            do_sample=False,
            num_beams=1,
            max_new_tokens=max_new_tokens,
            eos_token_id=self.eos or None,
            pad_token_id=pad,
            bos_token_id=self.tokenizer.bos_token_id,
        )
        watch = FiniteLogits(lambda i: beginning(self.tokenizer, prompts[i]), self.model.dtype)
        with torch.no_grad():
            sequences = self.model.generate(
                input_ids=torch.tensor(tokens, device=device),
                attention_mask=torch.tensor(mask, device=device),
                generation_config=settings,
                logits_processor=LogitsProcessorList([watch]),
                stopping_criteria=StoppingCriteriaList([BlankLine(self.tokenizer, length)]),
            )
        return [finished(row, self.tokenizer, self.eos) for row in sequences[:, length:].tolist()]

    def close(self) -> None:
        """Free the memory."""
        self.model = None
        gc.collect()


def end_tokens(generation_config: Any, tokenizer: Any) -> list[int]:
    """Return every token id that ends a text, as the model and its tokenizer name them."""
    named = generation_config.eos_token_id
    named = named if isinstance(named, list) else [named]
    return sorted({one for one in [*named, tokenizer.eos_token_id] if one is not None})


def finished(ids: list[int], tokenizer: Any, eos: Sequence[int]) -> Output:
    """Return the output of generated ids: up to an end token, then up to a blank line.

    Both engines' ids are read here: left to themselves they differ in what they write for a
    character whose bytes are cut off.
    """
    ended = next((at for at, token in enumerate(ids) if token in eos), None)
    written = ids if ended is None else ids[:ended]
    text = tokenizer.decode(written, skip_special_tokens=True)
    if BLANK_LINE in text:
        # A finished row is padded while the others of its batch go on; that is not output.
        return Output(cut(text), len(written), "blank_line")
    if ended is not None:
        return Output(cut(text), ended + 1, "eos")
    return Output(cut(text), len(ids), "length")


def beginning(tokenizer: Any, prompt: Sequence[int]) -> str:
    """Return how a message names a prompt: the beginning of its text."""
    text = " ".join(tokenizer.decode(prompt[:60], skip_special_tokens=True).split())
    return f"the prompt beginning {text[:60]!r}"


def text_tokens(tokenizer: Any, text: str) -> list[int]:
    """Return the tokens of a text as it stands after a label and a space; nothing has none."""
    return tokenizer(f" {text}", add_special_tokens=False)["input_ids"] if text else []


class BlankLine:
    """Stopping criterion, true for each row whose text so far holds a blank line."""

    #: A blank line is two adjacent line feeds: the newest tokens suffice, and a few more in case
    #: some are empty.
    WINDOW = 8

    def __init__(self, tokenizer: Any, prompt_length: int):
        self.tokenizer = tokenizer
        self.prompt_length = prompt_length

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        """Return a boolean tensor [B]."""
        import torch

        newest = input_ids[:, max(self.prompt_length, input_ids.shape[1] - self.WINDOW) :]
        texts = self.tokenizer.batch_decode(newest, skip_special_tokens=True)
        done = [BLANK_LINE in text for text in texts]
        return torch.tensor(done, device=input_ids.device)
