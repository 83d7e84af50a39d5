"""Greedy generation with vLLM: the prompts, the stop and the greedy choice of the other engine.

vLLM lives in an environment of its own (``make vllm``, docs/vllm.md) because it pins the libraries
it stands on. Nothing here is imported unless that engine is asked for.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.evaluation.engines import BLANK_LINE, Output, end_tokens, finished, text_tokens

#: Where ``make vllm`` puts the environment, and the variable that names another interpreter.
ENVIRONMENT = Path(".venv-vllm/bin/python")
VARIABLE = "REVOCAB_VLLM_PYTHON"
#: Sequences whose keys and values are held at once on a CPU. There vLLM would otherwise take nine
#: tenths of the machine's memory, and refuse to start where other jobs have some of it.
CPU_SEQUENCES = 32
#: Widths of an attention head that vLLM's CPU attention has; others fail in the first forward pass.
CPU_HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
#: Keys and values are stored in blocks of this many tokens on a CPU.
CPU_BLOCK = 128


def vllm_python() -> str:
    """Return the interpreter that has vLLM: ``REVOCAB_VLLM_PYTHON``, ``.venv-vllm``, or this one.

    Raises :class:`RevocabError` where none of them has it.
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
        f"evaluation.generation.engine: vllm needs its own environment, and {ENVIRONMENT} is not "
        f"there; run 'make vllm', name an interpreter in {VARIABLE}, use --sdm conda, or set "
        "engine: transformers"
    )


def head_width(config: Any) -> int:
    """Return the width of one attention head."""
    text = config.get_text_config()
    return getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads


def cache_bytes(config: Any, context_length: int, sequences: int = CPU_SEQUENCES) -> int:
    """Return the bytes of keys and values, in float32, of ``sequences`` full contexts."""
    text = config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    tokens = -(-context_length // CPU_BLOCK) * CPU_BLOCK
    return 2 * text.num_hidden_layers * heads * head_width(config) * 4 * tokens * sequences


def start_settings(config: Any, device: str, context_length: int) -> dict[str, Any]:
    """Return what vLLM is started with on a device, beside model, dtype and context.

    Raises ``ValueError`` for a shape that it cannot run there.
    """
    if device != "cpu":
        return {}
    if head_width(config) not in CPU_HEADS:
        allowed = ", ".join(map(str, CPU_HEADS))
        raise ValueError(
            f"attention heads {head_width(config)} wide; on a CPU vLLM has {allowed}; "
            "use --engine transformers"
        )
    # In this process: two more processes that import everything again cost a minute a model.
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    return {
        "distributed_executor_backend": "uni",
        "enforce_eager": True,  # compiling takes longer than generating
        "kv_cache_memory_bytes": cache_bytes(config, context_length),
    }


def generation_settings(folder: Path, config: Any) -> Any:
    """Return a checkpoint's generation settings, from ``config.json`` where it has no own file."""
    from transformers import GenerationConfig

    if (folder / "generation_config.json").is_file():
        return GenerationConfig.from_pretrained(folder)
    return GenerationConfig.from_model_config(config)


class VllmEngine:
    """vLLM with temperature 0 and the same stop."""

    def __init__(self, folder: Path, *, device: str, dtype: str, context_length: int):
        from transformers import AutoConfig, AutoTokenizer

        config = AutoConfig.from_pretrained(folder)
        self.context_length = int(getattr(config, "max_position_embeddings", 2**31))
        length = min(context_length, self.context_length)
        settings = start_settings(config, device, length)
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")

        from vllm import LLM

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.eos = end_tokens(generation_settings(folder, config), self.tokenizer)
        self.model = LLM(
            model=str(folder),
            dtype=dtype,
            seed=0,
            max_model_len=length,
            generation_config="vllm",  # not the checkpoint's: it may sample
            disable_log_stats=True,
            **settings,
        )

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
        )
        requests = [{"prompt_token_ids": prompt} for prompt in prompts]
        results = self.model.generate(requests, settings, use_tqdm=False)
        made = [list(result.outputs[0].token_ids) for result in results]
        return [finished(ids, self.tokenizer, self.eos) for ids in made]

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
