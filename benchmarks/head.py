"""A decode step with the full head, and with one of some tokens (``revocab trim --head-only``).

A random model of Gemma 3 270M's shape, tied, with its 262,144 tokens; which rows are kept does not
matter for the time. CPU time, and steps alternate between heads: other work slows all alike.

    OMP_NUM_THREADS=1 python benchmarks/head.py [--keep 66112 32768] [--steps 20] [--dtype float32]
"""

from __future__ import annotations

import argparse
import copy
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

SHAPE = {
    "vocab_size": 262_144, "hidden_size": 640, "intermediate_size": 2048, "num_hidden_layers": 18,
    "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
}  # fmt: skip
#: Tokens before the step.
CONTEXT = 256


def with_head(model: Any, keep: int) -> Any:
    from revocab.product.trimmed_head import FILE, use_head

    own = copy.deepcopy(model)
    head = own.get_output_embeddings().weight.detach()
    ids = torch.randperm(len(head))[:keep].sort().values
    with tempfile.TemporaryDirectory() as folder:
        save_file({"weight": head[ids], "ids": ids}, Path(folder) / FILE)
        use_head(own, folder)
    return own


def main() -> None:
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--keep", type=int, nargs="+", default=[66_112, 32_768])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    torch.manual_seed(0)
    model = Gemma3ForCausalLM(Gemma3TextConfig(**SHAPE)).to(getattr(torch, options.dtype)).eval()
    models = {SHAPE["vocab_size"]: model, **{n: with_head(model, n) for n in options.keep}}
    prompt = torch.randint(SHAPE["vocab_size"], (1, CONTEXT))
    seconds: dict[int, list[float]] = {size: [] for size in models}
    with torch.no_grad():
        cache = model(prompt, use_cache=True, logits_to_keep=1).past_key_values
        for _ in range(options.steps + 2):
            for size, own in models.items():
                past, token = copy.deepcopy(cache), prompt[:, -1:]
                start = time.process_time()
                own(token, past_key_values=past)
                seconds[size].append(time.process_time() - start)
    print("| tokens of the head | CPU time of a step, ms | share |\n| ---: | ---: | ---: |")
    full = statistics.median(seconds[SHAPE["vocab_size"]][2:])  # the first two warm up
    for size, measured in seconds.items():
        step = statistics.median(measured[2:])
        print(f"| {size:,} | {step * 1000:.1f} | {step / full:.2f} |")


if __name__ == "__main__":
    main()
