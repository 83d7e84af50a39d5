"""A step of a vocabulary adapter beside training rows, and beside autograd through ``A @ E``.

    python benchmarks/adapters.py --shape pico --threads 1
    python benchmarks/adapters.py --rows 16384 --source-rows 32000 --width 1024 --micro-batches 4
    python benchmarks/adapters.py --computed

One matrix, on random values and random gradients of as many micro batches as asked: what the model
itself computes is the same in all three. Each way has a process of its own, so that its peak memory
is its own: source rows, matrix, gradient and what the optimizer keeps, without the libraries.
``--computed`` prints operations and memory of the paper's shape by formula; nothing is run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass

WAYS = ("rows", "adapter", "autograd")


@dataclass(frozen=True)
class Shape:
    rows: int
    source_rows: int
    width: int


SHAPES = {
    "pico": Shape(64, 40, 16),
    "demo": Shape(1_024, 1_024, 128),
    "paper": Shape(50_000, 32_000, 4_096),
}
RATES = {"lr": 2e-6, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01, "fused": True}


def make_adapter(shape: Shape):
    """Return an adapter of which half of the rows are shared and the others of two pieces."""
    from dataclasses import replace

    import torch

    from revocab.initialise.cost_at_scale import random_matrix
    from revocab.initialise.rows.source_weights import SourceWeights
    from revocab.training.vocabulary_adapter import VocabularyAdapter

    shared = min(shape.rows, shape.source_rows) // 2
    rows = (
        {t: 1.0} if t < shared else {t % shape.source_rows: 0.5, (t + 1) % shape.source_rows: 0.5}
        for t in range(shape.rows)
    )
    weights = SourceWeights.of(rows, shape.source_rows)
    weights = replace(weights, shared_S=torch.arange(shared))
    return VocabularyAdapter(weights, random_matrix(shape.source_rows, shape.width, 0), 0.1)


def stepping(way: str, shape: Shape, micro_batches: int):
    """Return a function that makes a step of one way, of gradients that stand there."""
    import torch

    from revocab.initialise.cost_at_scale import random_matrix
    from revocab.training.vocabulary_adapter import AdapterAdamW

    adapter = make_adapter(shape)
    gradient_ND = random_matrix(shape.rows, shape.width, 1)
    matrix = torch.nn.Parameter(torch.zeros(shape.rows, shape.width))
    adapters = {((0, 0),): adapter} if way == "adapter" else {}
    if way == "autograd":
        a = torch.nn.Parameter(adapter.weights.dense(slice(0, shape.rows)))
        optimizer = torch.optim.AdamW([a], **RATES)
    else:
        optimizer = AdapterAdamW([{"params": [matrix]}], adapters, **RATES)
        optimizer.adapt(way == "adapter", begin=True)

    def step():
        if way == "autograd":
            for _ in range(micro_batches):
                (a @ adapter.source_VD).backward(gradient_ND)
            torch.nn.utils.clip_grad_norm_([a], 1.0)
        else:
            matrix.grad = gradient_ND.clone()
            for _ in range(micro_batches - 1):
                matrix.grad += gradient_ND
            if way == "adapter":
                optimizer.clip(1.0)
            else:
                torch.nn.utils.clip_grad_norm_([matrix], 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def measure(way: str, shape: Shape, micro_batches: int, steps: int, threads: int) -> dict:
    """Return seconds per step without the first, and the peak of memory above the start."""
    import torch

    import revocab.training.vocabulary_adapter  # noqa: F401  (its libraries do not count)
    from revocab.initialise.cost_at_scale import watched_memory

    torch.set_num_threads(threads)
    torch._dynamo  # noqa: B018  (the same: the first step of an optimizer loads it)
    with watched_memory() as peak:
        step = stepping(way, shape, micro_batches)
        step()
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(steps):
            step()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"way": way, "wall": wall / steps, "cpu": cpu / steps, "bytes": peak[0]}


def computed(shape: Shape, micro_batches: int) -> list[tuple[str, float, float]]:
    """Return (way, operations of a step, bytes of what is kept) of one matrix, by formula."""
    from revocab.costs.model import adapter_flops

    rows, source, width = shape.rows, shape.source_rows, shape.width
    product, matrix = 2.0 * rows * source * width, 4.0 * rows * source
    kept = 4.0 * source * width
    return [
        ("rows", 0.0, 3 * 4.0 * rows * width),
        ("adapter", adapter_flops(rows, source, width), 3 * matrix + kept + 4.0 * width**2),
        ("autograd", 2 * product * micro_batches, 4 * matrix + kept),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--shape", choices=SHAPES, default="pico")
    for name in ("rows", "source-rows", "width"):
        parser.add_argument(f"--{name}", type=int, help="default: of the shape")
    parser.add_argument("--micro-batches", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--computed", action="store_true", help="formulas at the paper's shape")
    parser.add_argument("--alone", choices=WAYS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    named = SHAPES["paper" if given.computed else given.shape]
    shape = Shape(
        given.rows or named.rows, given.source_rows or named.source_rows, given.width or named.width
    )
    if given.alone:
        found = measure(given.alone, shape, given.micro_batches, given.steps, given.threads)
        print(json.dumps(found))
        return
    print(f"{shape.rows:,} x {shape.source_rows:,} x {shape.width:,}, one matrix, float32,"
          f" {given.micro_batches} micro batches")  # fmt: skip
    if given.computed:
        for way, operations, size in computed(shape, given.micro_batches):
            print(f"| {way} | {operations:.3g} FLOP | {size / 1e9:.1f} GB |")
        return
    for way in given.ways:
        command = [sys.executable, __file__, *sys.argv[1:], "--alone", way]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or [f"ended with {done.returncode}"]
            print(f"| {way} | {last[0]} |", flush=True)
            continue
        one = json.loads(done.stdout)
        print(f"| {way} | {one['wall']:.4g} s | {one['cpu']:.4g} s |"
              f" {one['bytes'] / 2**20:,.0f} MiB |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
