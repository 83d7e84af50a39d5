"""Greedy generation with vLLM: the prompts, the stop and the greedy choice of the other engine.

vLLM lives in an environment of its own (``make vllm``, docs/vllm.md) because it pins the libraries
it stands on. Nothing here is imported unless that engine is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from revocab.evaluation.engines import (
    BLANK_LINE,
    Output,
    beginning,
    end_tokens,
    finished,
    text_tokens,
)
from revocab.evaluation.overflow import refuse_outputs
from revocab.evaluation.vllm_start import context_length, read_config, shut_down, start_settings
from revocab.models.load import check_model
from revocab.tokenizers.load import load_tokenizer


def generation_settings(folder: Path, config: Any) -> Any:
    """Return a checkpoint's generation settings, from ``config.json`` where it has no own file."""
    from transformers import GenerationConfig

    if (folder / "generation_config.json").is_file():
        return GenerationConfig.from_pretrained(folder)
    return GenerationConfig.from_model_config(config)


class VllmEngine:
    """vLLM with temperature 0 and the same stop."""

    def __init__(
        self, folder: Path, *, device: str, dtype: str, longest: int, sequences: int | None = None
    ):
        """Load a checkpoint; prompt and answer have at most ``longest`` tokens.

        Raises :class:`RevocabError` for what :func:`revocab.models.load.check_model` refuses.
        ``sequences``: as of :func:`revocab.evaluation.vllm_start.start_settings`.
        """
        check_model(folder)
        config = read_config(folder)
        self.context_length = context_length(config)
        length = min(longest, self.context_length)
        settings = start_settings(config, device, dtype, length, sequences)

        from vllm import LLM

        self.dtype = dtype
        # vLLM gets token ids: its own tokenizer only looks for the stop in what it has written.
        self.tokenizer = load_tokenizer(folder)
        self.eos = end_tokens(generation_settings(folder, config), self.tokenizer)
        self.model = LLM(model=str(folder), **settings)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a prompt."""
        return self.tokenizer(text)["input_ids"]

    def encode_text(self, text: str) -> list[int]:
        """Return the token ids of a text that follows a label, without special tokens."""
        return text_tokens(self.tokenizer, text)

    def generate(self, prompts: Sequence[list[int]], max_new_tokens: int) -> list[Output]:
        """Return one output per prompt; vLLM batches by itself."""
        from vllm import SamplingParams

        settings = SamplingParams(
            temperature=0.0,
            max_tokens=max_new_tokens,
            stop=[BLANK_LINE],
            stop_token_ids=self.eos,
            logprobs=1,
        )
        requests = [{"prompt_token_ids": prompt} for prompt in prompts]
        results = self.model.generate(requests, settings, use_tqdm=False)
        refuse_outputs(results, lambda i: beginning(self.tokenizer, prompts[i]), self.dtype)
        made = [list(result.outputs[0].token_ids) for result in results]
        return [finished(ids, self.tokenizer, self.eos) for ids in made]

    def close(self) -> None:
        """Stop the engine's process and free the memory."""
        shut_down(self.model)
        self.model = None
