"""Tokens per second of our Trainer against a hand-written torch loop.

    python benchmarks/training.py --threads 1

Both train the same model on the same batches, taking turns, so that other load on the machine hits
both; CPU seconds are given beside wall seconds for the same reason. The loop is the usual one: full
logits, `cross_entropy`, clipping, fused AdamW.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

SHAPES = {
    "demo": {"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 4,
             "num_attention_heads": 4, "num_key_value_heads": 2},
    "25m": {"hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 6,
            "num_attention_heads": 8, "num_key_value_heads": 4},
}  # fmt: skip


def make_model(shape, vocabulary, length):
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    return MistralForCausalLM(
        MistralConfig(vocab_size=vocabulary, max_position_embeddings=length, **SHAPES[shape])
    )


def plain_loop(model, tokens, steps, batch):
    """Train ``steps`` steps by hand; return (wall, CPU) seconds per step without the first."""
    import torch
    from torch.nn import functional

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), fused=True)
    model.train()
    for step in range(steps):
        if step == 1:
            wall, cpu = time.perf_counter(), time.process_time()
        ids = torch.from_numpy(tokens[step * batch : (step + 1) * batch].astype("int64"))
        logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
        loss = functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
    return (
        (time.perf_counter() - wall) / (steps - 1),
        (time.process_time() - cpu) / (steps - 1),
    )


def our_trainer(model, packed, steps, batch):
    """Train the same steps with our Trainer, tables included; return the same."""
    from revocab.training.loop.trainer import RecipeTrainer
    from revocab.training.machine.engine import training_arguments
    from revocab.training.machine.micro_batch import MicroBatch
    from revocab.training.outputs.loss_tables import LossTables
    from revocab.training.run import Settings, TrainingRun

    settings = Settings(
        steps=steps, batch_size=batch, learning_rate=1e-3, checkpoint_every=steps, seed=0
    )
    marks = []

    class Measured(RecipeTrainer):
        def finish_step(self, step, learning_rate):
            super().finish_step(step, learning_rate)
            marks.append((time.perf_counter(), time.process_time()))

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "state"
        run = TrainingRun(model=root, packed=root, heldout=root, out=root, settings=settings)
        Measured(
            model,
            training_arguments(run, batch, root),
            packed=packed,
            settings=settings,
            tables=LossTables(Path(folder), resume_from=None),
            work=lambda trainer, step: None,
            micro=MicroBatch(batch, batch, None, 1, root),
        ).train()
    return tuple(
        (last - first) / (steps - 1) for first, last in zip(marks[0], marks[-1], strict=True)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--shape", choices=SHAPES, default="demo")
    parser.add_argument("--vocabulary", type=int, default=1024)
    parser.add_argument("--sequence-length", type=int, default=256)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=8, help="steps per turn")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()

    import numpy as np
    import psutil
    import torch

    from revocab.training.data.packed_rows import PackedRows

    torch.set_num_threads(options.threads)
    rows, length = options.steps * options.batch_size, options.sequence_length
    tokens = np.random.default_rng(0).integers(0, options.vocabulary, (rows, length))
    tokens = tokens.astype(np.uint16)
    manifest = {"sequence_length": length, "tokens_per_byte": 1.0}
    packed = PackedRows(tokens, manifest, rows)
    turns = {"plain": [], "ours": []}
    for turn in range(options.turns + 1):
        model = make_model(options.shape, options.vocabulary, length)
        plain = plain_loop(model, tokens, options.steps, options.batch_size)
        model = make_model(options.shape, options.vocabulary, length)
        ours = our_trainer(model, packed, options.steps, options.batch_size)
        if turn:  # the first turn warms up
            turns["plain"].append(plain)
            turns["ours"].append(ours)
    step_tokens = options.batch_size * length
    result = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "threads": options.threads,
        "peak_memory_bytes": psutil.Process().memory_info().rss,
    }
    for clock, index in (("wall", 0), ("cpu", 1)):
        medians = {name: statistics.median(t[index] for t in turns[name]) for name in turns}
        result[clock] = {
            **{f"{name}_tokens_per_second": step_tokens / s for name, s in medians.items()},
            "ratio": medians["plain"] / medians["ours"],
        }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
