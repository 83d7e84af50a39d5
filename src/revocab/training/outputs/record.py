"""What a training says of itself: measurements of a process, and the manifest of a finished run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.costs.model import flops_per_token
from revocab.training.outputs import checkpoints

if TYPE_CHECKING:
    from revocab.training.loop.trainer import RecipeTrainer
    from revocab.training.run import TrainingRun
    from revocab.training.train import TrainingInputs


def timing_of(run: TrainingRun, trainer: RecipeTrainer, began: float) -> dict[str, Any]:
    """Return what goes into ``timing.json``, of this process only: a resumed run counts anew.

    ``startup_seconds`` runs from the start of the process to the first step, without the held-out
    losses of step 0.
    """
    import resource

    import torch

    clock, work = trainer.clock, trainer.work
    length, device = trainer.packed.sequence_length, trainer.args.device
    tokens = clock.steps * trainer.settings.batch_size * length
    speed = tokens / clock.training if clock.training else 0.0
    adapters = trainer.vocabulary_adapters.values()
    flops = flops_per_token(
        trainer.model, trainer.groups, trainer.settings, length,
        source_rows=max((adapter.weights.source_rows for adapter in adapters), default=0),
    )  # fmt: skip
    return {
        "seconds": time.time() - began,
        "startup_seconds": (clock.first_step or time.time()) - began - work.before_training,
        "steps": clock.steps,
        "training_seconds": clock.training,
        "evaluations": work.evaluations,
        "evaluation_seconds": work.evaluation_seconds,
        "exports": work.exports,
        "export_seconds": work.export_seconds,
        "states": len(trainer.state_seconds),
        "state_seconds": sum(trainer.state_seconds),
        "tokens_per_second": speed,
        "micro_batch": trainer.micro.size,
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "peak_device_memory_bytes": (
            torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None
        ),
        "threads": torch.get_num_threads(),
        "device": str(device),
        "processes": trainer.args.world_size,
        "engine": run.model_dump(include={"fsdp", "activation_checkpointing", "compile"}),
        "flops_per_token": flops,
        "model_flops_per_second": flops * speed,
    }


def manifest_of(run: TrainingRun, inputs: TrainingInputs, best: dict[str, Any]) -> dict[str, Any]:
    """Describe a finished run: nothing in it depends on time, place or number of processes.

    ``best`` is what :func:`~revocab.training.outputs.checkpoints.keep_best` says, if it was
    asked.
    """
    import accelerate
    import torch
    import transformers

    settings, packed = run.settings, inputs.packed.manifest
    rows = settings.steps * settings.batch_size
    tokens = rows * packed["sequence_length"]
    plan = settings.plan
    stages = {step: plan.index(step - 1) for step in settings.checkpoint_steps}
    adapters = []
    for step, stage in stages.items():
        if plan.stages[stage].lora:
            path, base = checkpoints.adapter_folder(Path(), step), plan.begins[stage]
            # "base" is the step whose weights it changes.
            adapters.append({"step": step, "path": str(path), "base": base})
    exported = {step: checkpoints.step_folder(Path(), step) for step in settings.checkpoint_steps}
    libraries = (accelerate, torch, transformers)
    return {
        "steps": settings.steps,
        "tokens": tokens,
        "bytes": inputs.packed.bytes,
        "sequence_length": packed["sequence_length"],
        "checkpoints": [{"step": step, "path": str(path)} for step, path in exported.items()],
        **best,
        **({"adapters": adapters} if adapters else {}),
        "settings": settings.described(),
        "corpora": packed["corpora"] if rows == packed["rows"] else None,
        **({"stages": packed["stages"]} if "stages" in packed else {}),
        "inputs": inputs.checksums,
        "versions": {library.__name__: library.__version__ for library in libraries},
    }
