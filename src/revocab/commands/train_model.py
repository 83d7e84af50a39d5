"""Train a model folder on packed rows by a recipe; resumable; exports and evaluates checkpoints."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from revocab.command import Command
from revocab.training.named_recipes import NamedRecipe
from revocab.training.run import Settings, TrainingFolders, TrainingMachine, TrainingRun
from revocab.workflow.gpus import end_with_parent


def run(inputs: TrainingFolders, job: Settings, machine: TrainingMachine, out: Path) -> None:
    from revocab.training.machine.startup import pretend_absent, process_variables

    os.environ.update(process_variables(os.environ))
    if (
        "TORCHELASTIC_RUN_ID" in os.environ
    ):  # a launcher that is killed must not leave its GPUs in use
        end_with_parent()

    adapters = any(stage.lora for stage in job.stages or ())
    pretend_absent("datasets", "scipy", *([] if adapters else ["peft"]))
    gc.disable()  # imports leave no garbage: collecting it would take half a second

    import psutil

    if machine.threads is not None:
        import torch

        torch.set_num_threads(machine.threads)

    import revocab.training.loop.trainer  # noqa: F401  (the slow one)
    from revocab.training.train import train

    gc.enable()
    started = psutil.Process().create_time()
    train(TrainingRun(**dict(inputs), **dict(machine), settings=job, out=out, started=started))


COMMAND = Command(run, shorthand=NamedRecipe, remakes=("model", "checkpoints/step-*"))
