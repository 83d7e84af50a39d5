"""What a training writes of itself: its loss tables while it goes on, then timing and manifest.

The tables are every step's loss, held-out losses at checkpoints, and of vocabulary adapters how far
the rows of shared tokens have moved.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from revocab.training.loop import Training
    from revocab.training.run import TrainingRun
    from revocab.training.train import TrainingInputs

LOSSES = "losses.csv"
HELDOUT = "heldout.csv"
#: Held-out losses of a run that is not trained. They stand beside those of a training that the run
#: had before or gets later, so that neither has to be removed.
MEASURED = "measured_heldout.csv"
ADAPTER = "adapter.csv"
COLUMNS = {
    LOSSES: ("step", "tokens", "loss", "bits_per_byte", "learning_rate", "gradient_norm"),
    HELDOUT: (
        "step", "corpus", "language", "loss", "bits_per_byte", "tokens", "bytes"
    ),
    ADAPTER: ("step", "auxiliary_loss"),
}  # fmt: skip
#: Columns that are curves.
SCALARS = {"loss", "bits_per_byte", "learning_rate", "gradient_norm", "auxiliary_loss"}


class LossTables:
    """Append-only CSV files in the run's folder, readable while training goes on.

    A resumed run starts from the copies kept with its state, so each step appears once. With
    ``events`` each row also becomes TensorBoard scalars under ``tensorboard/``; a resumed run adds
    a file there, which hides the steps made again. ``names`` are the tables of this training.
    """

    def __init__(
        self,
        folder: Path,
        names: Iterable[str] = (LOSSES, HELDOUT),
        *,
        resume_from: Path | None,
        events: bool = False,
    ):
        self.folder = folder
        self.events = None
        if events:
            from torch.utils.tensorboard import SummaryWriter

            step = int(resume_from.name.rpartition("-")[2]) if resume_from is not None else -1
            self.events = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)
        self._handles = {}
        for name in names:
            header = (",".join(COLUMNS[name]) + "\n").encode()
            before = header if resume_from is None else (resume_from / name).read_bytes()
            (folder / name).write_bytes(before)
            self._handles[name] = (folder / name).open("a", encoding="utf-8", newline="")

    def append(self, name: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Append rows to table ``name`` and hand them to the operating system at once."""
        rows = list(rows)
        csv.writer(self._handles[name], lineterminator="\n").writerows(rows)
        self._handles[name].flush()
        if self.events is None:
            return
        for row in rows:
            values = dict(zip(COLUMNS[name], row, strict=True))
            place = f"heldout/{values['corpus']}" if name == HELDOUT else "train"
            for key in sorted(key for key in SCALARS & values.keys() if values[key] is not None):
                self.events.add_scalar(f"{place}/{key}", values[key], values["step"])

    def scalar(self, name: str, value: float, step: int) -> None:
        """Add a number that is in no table, since it differs from run to run, to the events."""
        if self.events:
            self.events.add_scalar(name, value, step)

    def copy_to(self, folder: Path) -> None:
        for name in self._handles:
            (folder / name).write_bytes((self.folder / name).read_bytes())

    def close(self) -> None:
        for handle in self._handles.values():
            handle.close()
        if self.events:
            self.events.close()


def timing_of(training: Training, began: float, resumed_from: int) -> dict[str, Any]:
    """Return what goes into ``timing.json``, of this process only: a resumed run counts anew.

    ``startup_seconds`` runs from the start of the process to the first step, without the held-out
    losses of step 0.
    """
    import resource

    import torch

    from revocab.costs.model import flops_per_token

    run, settings, seconds = training.run, training.settings, training.seconds
    length = training.packed.sequence_length
    tokens = training.steps * settings.batch_size * length
    speed = tokens / training.step_seconds if training.steps else 0.0
    flops = flops_per_token(
        training.inputs.model, training.groups, settings, length, source_rows=training.source_rows
    )
    before = 0.0 if resumed_from else seconds["evaluation"][0]
    return {
        "seconds": time.time() - began,
        "startup_seconds": (training.first_step or time.time()) - began - before,
        "steps": training.steps,
        "training_seconds": training.step_seconds,
        **{f"{what}s": len(each) for what, each in seconds.items()},
        **{f"{what}_seconds": sum(each) for what, each in seconds.items()},
        "tokens_per_second": speed,
        "micro_batch": training.micro.size,
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "peak_device_memory_bytes": (
            torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None
        ),
        "threads": torch.get_num_threads(),
        "device": str(training.device),
        "processes": training.accelerator.num_processes,
        "engine": run.model_dump(include={"fsdp", "activation_checkpointing", "compile"}),
        "flops_per_token": flops,
        "model_flops_per_second": flops * speed,
        "resumed_from_step": resumed_from,
    }


def manifest_of(run: TrainingRun, inputs: TrainingInputs, best: dict[str, Any]) -> dict[str, Any]:
    """Describe a finished run: nothing in it depends on time, place or number of processes.

    ``best`` is what :func:`~revocab.training.checkpoints.keep_best` returned, or empty.
    """
    import accelerate
    import torch
    import transformers

    from revocab.training import checkpoints

    settings, packed = run.settings, inputs.packed.manifest
    rows = settings.steps * settings.batch_size
    tokens = rows * packed["sequence_length"]
    plan = settings.plan
    exported, adapters = [], []
    for step in settings.checkpoint_steps:
        exported.append({"step": step, "path": str(checkpoints.step_folder(Path(), step))})
        stage = plan.index(step - 1)
        if plan.stages[stage].lora:
            path, base = checkpoints.adapter_folder(Path(), step), plan.begins[stage]
            # "base" is the step whose weights it changes.
            adapters.append({"step": step, "path": str(path), "base": base})
    libraries = (accelerate, torch, transformers)
    return {
        "steps": settings.steps,
        "tokens": tokens,
        "bytes": inputs.packed.bytes,
        "sequence_length": packed["sequence_length"],
        "checkpoints": exported,
        **best,
        **({"adapters": adapters} if adapters else {}),
        "settings": settings.described(),
        "corpora": packed["corpora"] if rows == packed["rows"] else None,
        **({"stages": packed["stages"]} if "stages" in packed else {}),
        "inputs": inputs.checksums,
        "versions": {library.__name__: library.__version__ for library in libraries},
    }
