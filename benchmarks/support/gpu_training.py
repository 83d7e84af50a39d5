"""Speed and memory of training: the package's loop beside a plain loop."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

from support.gpu_models import (
    SHAPES,
    device,
    now,
    peak_memory,
    random_model,
    release,
    trained_in,
)

#: Steps before those that are timed.
WARM_UP = 2
RATE = 1e-4


def out_of_memory(error):
    from revocab.cli import is_out_of_memory

    return is_out_of_memory(error)  # also of a trainer that has nothing left to halve


def loop_of_torch(shape, tokens, rows, new_V, micro, recomputed):
    """Train by hand: float32 weights, autocast, full logits, clipping, fused AdamW."""
    import torch
    from torch.nn.functional import cross_entropy

    place = device()
    model = random_model(shape, torch.float32).train()
    if recomputed:
        model.gradient_checkpointing_enable()
    matrices = {model.get_input_embeddings().weight, model.get_output_embeddings().weight}
    if new_V is not None:
        old_V1 = ~new_V.to(place)[:, None]
        model.requires_grad_(False)
        for matrix in matrices:
            matrix.requires_grad_(True)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    for step in range(len(tokens) // rows):
        if step == WARM_UP:
            begin = now()
        total = torch.zeros((), device=place)
        ids_BL = torch.from_numpy(tokens[step * rows : (step + 1) * rows].astype("int64"))
        for part_BL in ids_BL.to(place).split(micro):
            with torch.autocast(place.type, torch.bfloat16, enabled=trained_in() == "bfloat16"):
                logits = model(input_ids=part_BL, use_cache=False).logits[:, :-1]
                loss = cross_entropy(logits.flatten(0, 1).float(), part_BL[:, 1:].flatten())
            loss = loss * (len(part_BL) / rows)
            loss.backward()
            total += loss.detach()
            del logits, loss
        for matrix in matrices if new_V is not None else ():
            matrix.grad.masked_fill_(old_V1, 0.0)
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return {"seconds": now() - begin, "micro_batch": micro, "loss": float(total)}


def our_trainer(shape, tokens, rows, new_V, recomputed):
    """Train the same steps with the package's loop, which finds its micro batch itself."""
    import torch

    from revocab.costs.model import flops_per_token
    from revocab.training.data.packed_rows import PackedRows
    from revocab.training.loop import Training, accelerator_of
    from revocab.training.run import MicroBatch, Settings, TrainingRun
    from revocab.training.train import TrainingInputs

    steps, marks = len(tokens) // rows, []

    class Timed(Training):
        def finish_step(self, *measured):
            super().finish_step(*measured)
            if self.step in (WARM_UP, steps):
                self.write_rows()
                marks.append(now())

        def measure(self):
            """Measure and export nothing between steps: the weights are random."""

    common = {"steps": steps, "learning_rate": RATE, "schedule": "constant"}
    stages = None if new_V is None else [{"name": "rows", "train": "new_rows", **common}]
    settings = Settings(
        **common, batch_size=rows, checkpoint_every=steps, precision=trained_in(), seed=0,
        stages=stages,
    )  # fmt: skip
    manifest = {"sequence_length": shape.length, "tokens_per_byte": 1.0}
    packed = PackedRows(tokens, manifest, len(tokens), batch_size=rows)
    model = random_model(shape, torch.float32)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        run = TrainingRun(
            model=root, packed=root, heldout=root, out=root, settings=settings,
            activation_checkpointing=recomputed,
        )  # fmt: skip
        inputs = TrainingInputs(model, getattr(torch, trained_in()), packed, [], {}, {}, new_V)
        micro = MicroBatch(rows, rows, None, 1, root)
        training = Timed(run, inputs, accelerator_of(run), None, micro)
        training.choose_micro_batch()
        flops = flops_per_token(model, training.groups, settings, shape.length)
        training.train()
    return {
        "seconds": marks[1] - marks[0], "micro_batch": micro.size, "loss": training.last_loss,
        "flops_per_token": flops,
    }  # fmt: skip


def first_that_fits(train, tokens, sizes):
    """Return what training says with the first size that has memory enough; ``None`` if none has.

    Sizes are options of ``train``. Tried are first those with all activations, then those with
    activations computed again.
    """
    for recomputed, size in product((False, True), sizes):
        release()
        try:
            with peak_memory() as peak:
                result = train(tokens=tokens, recomputed=recomputed, **size)
        except Exception as error:
            if not out_of_memory(error):
                raise
            print(f"  {size} {str(error).splitlines()[0][:160]}", flush=True)
            continue
        timed = tokens[train.keywords["rows"] * WARM_UP :]
        result |= {"tokens_per_second": timed.size / result.pop("seconds"),
                   "peak_bytes": peak[0], "activations_again": recomputed}  # fmt: skip
        print(f"  {train.func.__name__}: {result}", flush=True)
        return result
    return None


def measure_training(name, rows_alone, peaks):
    """Return tokens per second, memory and micro batch of both ways, and their ratio.

    ``peaks`` are what :func:`support.gpu_models.measure_device` returned. A way for which there is
    no memory is left out.
    """
    import numpy as np
    import torch

    from revocab.training.run import halved

    shape = SHAPES[name]
    rows, steps = shape.rows, shape.steps
    if device().type == "cpu" and shape.parameters > 1e8:
        rows, steps, shape = 4, 3, replace(shape, length=512)
    size = ((steps + WARM_UP) * rows, shape.length)
    tokens = np.random.default_rng(0).integers(0, shape.vocabulary, size).astype(np.uint32)
    new_V = torch.arange(shape.vocabulary) >= shape.vocabulary // 2 if rows_alone else None
    given = {"shape": shape, "rows": rows, "new_V": new_V}
    ours = first_that_fits(partial(our_trainer, **given), tokens, [{}])
    sizes = [ours["micro_batch"] if ours else 1]
    while smaller := halved(sizes[-1], rows):
        sizes.append(smaller)
    micro = [{"micro": size} for size in sizes]
    plain = first_that_fits(partial(loop_of_torch, **given), tokens, micro)
    if ours:
        done = ours["tokens_per_second"] * ours.pop("flops_per_token")
        # A CPU's peak is of seconds that other processes have, too.
        whichs = ("measured_peak", "data_sheet_peak") if device().type == "cuda" else ()
        known = {which: peaks.get(which) for which in whichs}
        ours |= {f"share_of_{which}": done / peak for which, peak in known.items() if peak}
    if ours and plain:
        ours["ratio_to_plain"] = ours["tokens_per_second"] / plain["tokens_per_second"]
        print(f"  ours / plain: {ours['ratio_to_plain']:.3f}", flush=True)
    ways = {"ours": ours, "plain torch": plain}
    return {
        "parameters": shape.parameters, "rows": rows, "length": shape.length, "timed_steps": steps,
        "precision": trained_in(),
        "table": [{"by": way, **own} for way, own in ways.items() if own],
    }  # fmt: skip
