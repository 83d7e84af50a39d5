"""The speed of this machine, from one step of training and one of writing, timed here."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from revocab.costs.model import operations
from revocab.product.source import Source
from revocab.progress import Say, silent

#: Layers that are timed: the others are like them, and random ones of a 7B model need 6 GB.
LAYERS = 2
#: So often each is timed, and the best counts.
REPEATS = 4
#: The optimizer's share of a training step's time.
OPTIMIZER_SHARE = 0.2


def precision_for(source: Source) -> str:
    """Return bfloat16 where the model is stored in it and the device has products of it.

    On a CPU these are AMX's: without them bfloat16 is slower than float32.
    """
    import torch

    if source.stored != "bfloat16":
        return "float32"
    if torch.cuda.is_available():
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    return "bfloat16" if has_amx() else "float32"


def has_amx(file: Path = Path("/proc/cpuinfo")) -> bool:
    return (
        file.is_file() and "amx_bf16" in file.read_text(encoding="utf-8", errors="replace").split()
    )


def training_speed(source: Source, precision: str, cores: int | None) -> float:
    """Return the training tokens per second of this machine, from a step of two layers timed here;
    the optimizer takes about a fifth of the time.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(cores or os.cpu_count() or 1)
    try:
        flops, _ = measure_speed(source.config, source.row, silent, precision)
    finally:
        torch.set_num_threads(threads)
    return (1 - OPTIMIZER_SHARE) * flops / (6 * source.parameters)


def measure_speed(
    config: Any, length: int, say: Say, precision: str = "float32"
) -> tuple[float, float]:
    """Return operations a second of a training's step, and bytes a second of writing a token.

    Random float32 weights of the model's own shapes; a step has its forward pass in ``precision``
    and no update by the optimizer.
    """
    import torch
    from transformers import AutoModelForCausalLM

    from revocab.device import choose_device
    from revocab.training.stages import Stage, StagePlan

    device = choose_device("auto")
    layers = min(LAYERS, config.num_hidden_layers)
    keys = {"num_hidden_layers": layers, "layer_types": None}
    short = type(config).from_dict({**config.to_dict(), **keys})
    say(f"timing a step of {layers} layers on {device}")
    model = AutoModelForCausalLM.from_config(short, dtype=torch.float32).to(device)
    ids = torch.randint(config.vocab_size, (1, length), device=device)
    plan = StagePlan([Stage(name="all", steps=1, learning_rate=1e-3)])
    flops = length * operations(model, plan.groups(model)).flops(length)

    def train() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
            loss = model(ids, labels=ids, use_cache=False).loss
        loss.backward()
        model.zero_grad(set_to_none=True)

    def write() -> None:
        with torch.no_grad():
            model(ids[:, :1], use_cache=False)

    seconds = {step: best_of(step, device) for step in (train, write)}
    moved = 4 * operations(model).forward
    return flops / seconds[train], moved / seconds[write]


def best_of(step: Callable[[], None], device: str) -> float:
    import torch

    best = float("inf")
    for _ in range(REPEATS):
        begin = time.perf_counter()
        step()
        if device != "cpu":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begin)
    return best
