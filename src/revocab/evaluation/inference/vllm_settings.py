"""What vLLM is started with: the memory that it holds, the devices, and where both are too small.

Nothing of vLLM is imported.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.models.parameters import cache_bytes_per_token, head_width

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
GIB = 1 << 30
#: In this variable a user may say how many GiB of keys and values vLLM holds on a CPU.
CACHE_SPACE = "VLLM_CPU_KVCACHE_SPACE"
#: What vLLM says where memory is too small; its flags are not those of this program.
MEMORY = re.compile(r"out of memory|memory .*(GiB|cache)|KV cache|gpu_memory_utilization", re.I)


def cache_tokens(
    context_length: int, sequences: int | None = None, requests: int | None = None
) -> int:
    """Return for how many tokens there is room: ``sequences`` full contexts, in whole blocks.

    Without a number of them it is :data:`CPU_SEQUENCES`, or ``requests`` where these are fewer.
    """
    full = -(-context_length // BLOCK) * BLOCK
    if sequences is not None:
        return full * sequences + BLOCK  # one that vLLM keeps for itself
    held = CPU_SEQUENCES if requests is None else min(CPU_SEQUENCES, requests)
    return max(full, held * min(full, CPU_LENGTH)) + BLOCK


def start_settings(
    config: Any,
    device: str,
    dtype: str,
    context_length: int,
    sequences: int | None = None,
    requests: int | None = None,
    gpus: int = 1,
) -> dict[str, Any]:
    """Return the keyword arguments of ``vllm.LLM`` beside the model.

    With ``sequences`` it runs in this process and holds that many full contexts, so that memory
    can be measured; else only a CPU is told how much to hold, for as many ``requests`` as there
    are. Raises ``ValueError`` for a shape that vLLM cannot run there, or not on that many GPUs,
    and for a cache that :data:`CACHE_SPACE` makes too small for one context.
    """
    settings: dict[str, Any] = {
        "dtype": dtype,
        "seed": 0,
        "max_model_len": context_length,
        "disable_log_stats": True,
    }
    if gpus > 1:
        heads = config.get_text_config().num_attention_heads
        if device == "cpu" or heads % gpus:
            reason = "on a CPU there is one device" if device == "cpu" else f"{heads} heads"
            raise ValueError(f"--gpus {gpus}: {reason}; give a number that divides the heads, or 1")
        settings["tensor_parallel_size"] = gpus
        settings["distributed_executor_backend"] = "mp"
    if device == "cpu":
        if head_width(config) not in CPU_HEADS:
            allowed = ", ".join(map(str, CPU_HEADS))
            raise ValueError(
                f"attention heads {head_width(config)} wide; on a CPU vLLM has {allowed}; use the "
                "engine transformers (for multiple choice: hf)"
            )
        settings["enforce_eager"] = True  # compiling takes longer than generating
    if device == "cpu" or sequences:
        if gpus == 1:
            # In this process: two more that import everything again cost a minute a model.
            os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
            settings["distributed_executor_backend"] = "uni"
        token = cache_bytes_per_token(config, dtype) // gpus
        held = token * cache_tokens(context_length, sequences, requests)
        own = named_space() if device == "cpu" else None
        if own is None:
            settings["kv_cache_memory_bytes"] = held
        elif requests is not None:  # else nothing is started yet
            say_space(own, held, token * cache_tokens(context_length, 1))
    return settings


def say_space(own: int, held: int, least: int) -> None:
    """Print how many bytes of keys and values a user gives, and how many the prompts need.

    Raises ``ValueError`` for less than one sequence needs.
    """
    given = f"{CACHE_SPACE}: vLLM holds {own / GIB:g} GiB of keys and values"
    if own < least:
        raise ValueError(f"{given}; one sequence needs {least / GIB:.2g}; raise it, or unset it")
    print(f"{given}; the prompts need {held / GIB:.2g}", file=sys.stderr)


def named_space() -> int | None:
    """Return the bytes that a user gives vLLM for keys and values on a CPU, where one does.

    vLLM takes them before any other setting.
    """
    value = os.environ.get(CACHE_SPACE, "")
    if not value:
        return None
    if not value.isdecimal() or int(value) == 0:
        raise ValueError(f"{CACHE_SPACE}: {value!r}; give whole GiB, such as 4, or unset it")
    return int(value) * GIB


@contextmanager
def enough(folder: Path) -> Iterator[None]:
    """Say where memory is too small for vLLM, in flags that there are here."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        said = " ".join(str(error).split())
        if not MEMORY.search(said):
            raise
        sizes = re.split(r"\. |; ", said)[0].rstrip(".")
        raise RevocabError(
            f"{folder}: too little memory for vLLM ({sizes}); free some, shorten prompts"
            " (--context-length, where text is generated), take --dtype bfloat16, --gpus with more"
            " devices, or --engine transformers (for multiple choice: hf)"
        ) from error
