"""What vLLM is started with, the same for text, choices and measurements; and how it is ended."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

from revocab.models.kv_cache import cache_bytes_per_token, head_width

#: Sequences whose keys and values are held at once on a CPU. There vLLM would otherwise take nine
#: tenths of the machine's memory, and refuse to start where other jobs have some of it.
CPU_SEQUENCES = 32
#: Beyond this length fewer than that many are held, down to one: contexts of 128k tokens would
#: otherwise ask for terabytes.
CPU_LENGTH = 2048
#: Widths of an attention head that vLLM's CPU attention has; others fail in the first forward pass.
CPU_HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
#: Keys and values are stored in blocks of this many tokens on a CPU, of fewer on a GPU.
BLOCK = 128


def cache_tokens(context_length: int, sequences: int | None = None) -> int:
    """Return for how many tokens there is room: ``sequences`` full contexts, in whole blocks."""
    full = -(-context_length // BLOCK) * BLOCK
    if sequences is None:
        return max(full, CPU_SEQUENCES * min(full, CPU_LENGTH))
    return full * sequences


def start_settings(
    config: Any, device: str, dtype: str, context_length: int, sequences: int | None = None
) -> dict[str, Any]:
    """Return the keyword arguments of ``vllm.LLM`` beside the model.

    With ``sequences`` it runs in this process and holds that many full contexts, so that memory
    can be measured; else only a CPU is told how much to hold. Raises ``ValueError`` for a shape
    that vLLM cannot run there.
    """
    settings: dict[str, Any] = {
        "dtype": dtype,
        "seed": 0,
        "max_model_len": context_length,
        "generation_config": "vllm",  # not the checkpoint's: it may sample
        "disable_log_stats": True,
    }
    if device == "cpu":
        if head_width(config) not in CPU_HEADS:
            allowed = ", ".join(map(str, CPU_HEADS))
            raise ValueError(
                f"attention heads {head_width(config)} wide; on a CPU vLLM has {allowed}; use the "
                "engine transformers (for multiple choice: hf)"
            )
        settings["enforce_eager"] = True  # compiling takes longer than generating
    if device == "cpu" or sequences:
        # In this process: two more processes that import everything again cost a minute a model.
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        settings["distributed_executor_backend"] = "uni"
        settings["kv_cache_memory_bytes"] = cache_bytes_per_token(config, dtype) * cache_tokens(
            context_length, sequences
        )
    return settings


def context_length(config: Any, unknown: int = 2**31) -> int:
    """Return the longest sequence that a model takes; ``unknown`` where it does not say."""
    return int(getattr(config.get_text_config(), "max_position_embeddings", None) or unknown)


def read_config(folder: str | Path) -> Any:
    """Return a checkpoint's transformers configuration."""
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(folder, trust_remote_code=False)


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
