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

    def generate(self, prompts: Sequence[list[int]], max_new_tokens: int) -> list[Output]:
        """Return one output per prompt, in order."""

    def close(self) -> None:
        """Free the memory."""


def choose_engine(name: str) -> str:
    """Return ``name``, or for ``auto`` vllm where it imports, else transformers."""
    if name == "transformers":
        return name
    try:
        import vllm  # noqa: F401
    except ImportError as error:
        if name == "vllm":
            raise RevocabError(
                f"--engine vllm: it cannot be imported ({error}); install it (envs/), or use "
                "--engine transformers"
            ) from None
        return "transformers"
    return "vllm"


def cut(text: str) -> str:
    """Return ``text`` up to its first blank line, without space around it."""
    return text.split(BLANK_LINE, 1)[0].strip()


class TransformersEngine:
    """``model.generate`` on left-padded batches of prompts of like length."""

    def __init__(self, folder: Path, *, batch_size: int, device: str, dtype: str):
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.batch_size = batch_size
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).to(device).eval()
        self.context_length = int(getattr(self.model.config, "max_position_embeddings", 2**31))
        self.eos = end_tokens(self.model, self.tokenizer)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a prompt."""
        return self.tokenizer(text)["input_ids"]

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
        from transformers import GenerationConfig, StoppingCriteriaList

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
        with torch.no_grad():
            sequences = self.model.generate(
                input_ids=torch.tensor(tokens, device=device),
                attention_mask=torch.tensor(mask, device=device),
                generation_config=settings,
                stopping_criteria=StoppingCriteriaList([BlankLine(self.tokenizer, length)]),
            )
        return [self._output(row) for row in sequences[:, length:].tolist()]

    def _output(self, ids: list[int]) -> Output:
        ended = next((at for at, token in enumerate(ids) if token in self.eos), None)
        written = ids if ended is None else ids[:ended]
        text = self.tokenizer.decode(written, skip_special_tokens=True)
        if BLANK_LINE in text:
            # A finished row is padded while the others of its batch go on; that is not output.
            return Output(cut(text), len(written), "blank_line")
        if ended is not None:
            return Output(cut(text), ended + 1, "eos")
        return Output(cut(text), len(ids), "length")

    def close(self) -> None:
        """Free the memory."""
        self.model = None
        gc.collect()


def end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """Return every token id that ends a text, as the model and its tokenizer name them."""
    named = model.generation_config.eos_token_id
    named = named if isinstance(named, list) else [named]
    return sorted({one for one in [*named, tokenizer.eos_token_id] if one is not None})


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


class VllmEngine:
    """vLLM with temperature 0 and the same stop."""

    def __init__(self, folder: Path, *, dtype: str, context_length: int):
        from transformers import AutoConfig, AutoTokenizer
        from vllm import LLM

        config = AutoConfig.from_pretrained(folder)
        self.context_length = int(getattr(config, "max_position_embeddings", 2**31))
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = LLM(
            model=str(folder),
            dtype=dtype,
            seed=0,
            max_model_len=min(context_length, self.context_length),
            generation_config="vllm",  # not the checkpoint's: it may sample
        )

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a prompt."""
        return self.tokenizer(text)["input_ids"]

    def generate(self, prompts: Sequence[list[int]], max_new_tokens: int) -> list[Output]:
        """Return one output per prompt; vLLM batches by itself."""
        from vllm import SamplingParams

        settings = SamplingParams(temperature=0.0, max_tokens=max_new_tokens, stop=[BLANK_LINE])
        requests = [{"prompt_token_ids": prompt} for prompt in prompts]
        results = self.model.generate(requests, settings, use_tqdm=False)
        return [self._output(result.outputs[0]) for result in results]

    @staticmethod
    def _output(found: Any) -> Output:
        if found.finish_reason == "length":
            reason: Finish = "length"
        else:
            reason = "blank_line" if found.stop_reason == BLANK_LINE else "eos"
        return Output(cut(found.text), len(found.token_ids), reason)

    def close(self) -> None:
        """Stop the engine's process and free the memory."""
        shut_down(self.model)
        self.model = None


def shut_down(model: Any) -> None:
    """Stop a vLLM model's process and free its memory."""
    import torch

    core = getattr(model.llm_engine, "engine_core", None)
    if hasattr(core, "shutdown"):
        core.shutdown()
    del model
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
