"""Initialisation at the Mistral→Minerva shape against direct implementations, side by side.

Random values: 32,000 x 4096 source, 32,768 x 2560 helper, 16,438 shared tokens. Slow references are
timed on a few tokens or steps and scaled up; what is compared is also checked to be equal.

    python benchmarks/initialisation.py                                   # minutes, about 4 GB
    python benchmarks/initialisation.py --shape llama --no-references
    python benchmarks/initialisation.py --small                           # seconds
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    source_rows: int
    target_rows: int
    hidden_size: int
    helper_hidden_size: int
    shared: int


SHAPES = {
    "mistral": Shape(32_000, 32_768, 4096, 2560, 16_438),
    "llama": Shape(128_256, 32_768, 4096, 2560, 20_358),
    "small": Shape(3_200, 3_276, 512, 320, 1_644),
}


METHODS = {
    "random": ("random", {}),
    "mean": ("mean", {}),
    "fvt": ("fvt", {}),
    "clp": ("clp", {}),
    "clp sparsemax": ("clp", {"weights": "sparsemax"}),
    "clp top_k=10": ("clp", {"top_k": 10}),
    "similarity": ("similarity", {}),
    "wechsel": ("wechsel", {}),
    "focus": ("focus", {}),
    "ofa": ("ofa", {}),
    "omp": ("omp", {}),
    "projection": ("projection", {}),
    "sava lstsq": ("sava", {"solver": "lstsq"}),
    "sava procrustes": ("sava", {"solver": "procrustes"}),
}


def make_inputs(shape: Shape, seed: int):
    import torch

    from revocab.initialise.cost_at_scale import random_matrix
    from revocab.initialise.method import MethodInputs

    generator = torch.Generator().manual_seed(seed)
    order_V = torch.randperm(shape.target_rows, generator=generator)
    source_V = torch.randperm(shape.source_rows, generator=generator)
    return MethodInputs(
        source_VD=random_matrix(shape.source_rows, shape.hidden_size, seed),
        target_rows=shape.target_rows,
        overlap_target_N=order_V[: shape.shared].sort().values,
        overlap_source_N=source_V[: shape.shared],
        missing_N=order_V[shape.shared :].sort().values,
        seed=seed,
        pieces=lambda token: [token % 97, token % 89, token % 83],
        pieces_released=lambda token: [token % 97],
        helper_VD=random_matrix(shape.target_rows, shape.helper_hidden_size, seed + 1),
    )


@dataclass(frozen=True)
class Cost:
    """Wall-clock seconds, CPU seconds (both cores), peak GiB above the start."""

    seconds: float
    processor: float
    memory: float

    def __str__(self):
        return f"{self.seconds:9.2f} s  {self.processor:9.2f} s of CPU time  {self.memory:5.2f} GiB"


def timed(call: Callable):
    """Return the call's result and its cost."""
    from revocab.initialise.cost_at_scale import watched_memory

    started, processor = time.perf_counter(), time.process_time()
    with watched_memory() as peak:
        result = call()
    cost = Cost(time.perf_counter() - started, time.process_time() - processor, peak[0] / 2**30)
    return result, cost


def clp_per_token(inputs, tokens: int):
    """Return the first rows as a weighted average per token (numpy float64, as published code)."""
    import numpy as np

    helper = inputs.helper_VD.numpy()
    overlap = helper[inputs.overlap_target_N.numpy()]
    overlap = overlap / np.linalg.norm(overlap, axis=1, keepdims=True)
    shared = inputs.source_VD.numpy()[inputs.overlap_source_N.numpy()]
    rows = []
    for token in inputs.missing_N[:tokens].tolist():
        row = helper[token] / np.linalg.norm(helper[token])
        rows.append(np.average(shared, axis=0, weights=(overlap @ row).astype(np.float64)))
    return np.stack(rows)


def direct_steps(x_NX, y_NY, steps: int):
    """Return the map after full-batch Adam steps on ``nn.Linear`` with padded widths."""
    import torch

    width = max(x_NX.shape[1], y_NY.shape[1])
    padded_x = torch.nn.functional.pad(x_NX, (0, width - x_NX.shape[1]))
    padded_y = torch.nn.functional.pad(y_NY, (0, width - y_NY.shape[1]))
    torch.manual_seed(42)
    linear = torch.nn.Linear(width, width)
    optimizer = torch.optim.Adam(linear.parameters(), lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(linear(padded_x), padded_y).backward()
        optimizer.step()
    return linear.weight.detach()[: y_NY.shape[1], : x_NX.shape[1]].T


def anchors_of(inputs):
    from revocab.initialise.rows.alignment import Scaling

    helper = inputs.helper_VD[inputs.overlap_target_N]
    source = inputs.source_VD[inputs.overlap_source_N]
    return Scaling.fit(helper).forward(helper), Scaling.fit(source).forward(source)


def benchmark_clp(inputs) -> None:
    import numpy as np

    from revocab.initialise.method import methods

    method = methods()["clp"]
    rows, cost = timed(lambda: method.initialise(inputs, method.options()))
    tokens = 5
    expected, slow = timed(lambda: clp_per_token(inputs, tokens))
    scale = len(inputs.missing_N) / tokens
    error = np.linalg.norm(rows[:tokens].numpy() - expected) / np.linalg.norm(expected)
    print(f"clp             {cost}")
    print(f"clp per token   {Cost(slow.seconds * scale, slow.processor * scale, slow.memory)}")
    print(
        f"  (from {tokens} tokens) {slow.seconds * scale / cost.seconds:.0f} times faster; "
        f"relative difference {error:.1e}"
    )


def benchmark_sgd(x_NX, y_NY, gram_steps: int, slow_steps: int) -> None:
    from revocab.initialise.rows.alignment import Normal, fit_sgd

    normal, start = timed(lambda: Normal.of(x_NX, y_NY))

    def fit(steps: int):
        return fit_sgd(x_NX, y_NY, steps=steps, learning_rate=1e-3, seed=42, normal=normal)

    fit_sgd(x_NX[:64], y_NY[:64], steps=1, learning_rate=1e-3, seed=42)  # imports
    _, first = timed(lambda: fit(1))
    _, more = timed(lambda: fit(gram_steps + 1))
    step = (more.seconds - first.seconds) / gram_steps
    processor = (more.processor - first.processor) / gram_steps
    direct_steps(x_NX[:64], y_NY[:64], 1)
    expected, slow = timed(lambda: direct_steps(x_NX, y_NY, slow_steps))
    slow_step, slow_processor = slow.seconds / slow_steps, slow.processor / slow_steps
    error = (fit(slow_steps).weight_XY - expected).norm() / expected.norm()
    print(f"sava sgd, start {start}")
    print(f"sava sgd, step  {Cost(step, processor, more.memory)}")
    print(f"  direct, step  {Cost(slow_step, slow_processor, slow.memory)}")
    print(
        f"  {slow_step / step:.0f} times faster a step ({slow_processor / processor:.0f} by "
        f"CPU time); relative difference after {slow_steps} steps {error:.1e}"
    )


def check_lstsq(x_NX, y_NY) -> None:
    """Compare predictions with those of a float64 QR."""
    import torch

    from revocab.initialise.rows.alignment import LeastSquares, cross, gram

    def fit_lstsq():
        system = LeastSquares(gram(x_NX))
        right_PY = cross(x_NX, y_NY, exact=system.needs_exact)
        return system.solve(right_PY, x_NX.dtype)

    fitted, cost = timed(fit_lstsq)
    design = torch.cat([x_NX, torch.ones(len(x_NX), 1)], dim=1).double()
    exact, slow = timed(lambda: torch.linalg.lstsq(design, y_NY.double(), driver="gels").solution)
    expected = design[:2048] @ exact
    error = (fitted(x_NX[:2048]).double() - expected).norm() / expected.norm()
    print(f"lstsq fit       {cost}")
    print(f"  float64 QR    {slow}")
    print(f"  relative difference of predictions {float(error):.1e}")


def benchmark_methods(inputs, wanted: dict[str, tuple[str, dict]]) -> None:
    from revocab.initialise.method import methods

    for name, (method_name, options) in wanted.items():
        method = methods()[method_name]
        checked = method.options(**options)
        _, cost = timed(lambda m=method, o=checked: m.initialise(inputs, o))
        print(f"{name:15} {cost}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--shape", choices=list(SHAPES), default="mistral")
    parser.add_argument("--small", action="store_const", dest="shape", const="small")
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    parser.add_argument(
        "--references",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="the slow computations beside clp and sava sgd",
    )
    parser.add_argument("--exact", action="store_true", help="compare lstsq with a float64 QR")
    parser.add_argument("--threads", type=int, help="default: all cores")
    arguments = parser.parse_args()

    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    shape = SHAPES[arguments.shape]
    print(f"{shape}, {torch.get_num_threads()} threads, torch {torch.__version__}; one matrix")
    inputs = make_inputs(shape, seed=0)
    benchmark_methods(inputs, {name: METHODS[name] for name in arguments.methods})
    if arguments.references:
        benchmark_clp(inputs)
    x_NX, y_NY = anchors_of(inputs)
    if arguments.references:
        benchmark_sgd(x_NX, y_NY, gram_steps=8, slow_steps=2)
    if arguments.exact:
        check_lstsq(x_NX, y_NY)


if __name__ == "__main__":
    main()
