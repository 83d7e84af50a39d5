"""Train a model folder on packed rows by a recipe; resumable; exports and evaluates checkpoints."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from revocab.command import Command
from revocab.rule import Artefact, Given, Plan, Step
from revocab.training.named_recipes import NamedRecipe
from revocab.training.recipe import ANSWERS, TrainingOptions
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


def training(
    plan: Plan,
    out: str,
    model: Artefact,
    ids: tuple[str, str, str],
    seed: int,
    source: Artefact | None = None,
) -> Step:
    tokenizer, mixture, recipe = ids
    entry = plan.experiment.recipes[recipe]
    options = entry.model_dump(include=set(TrainingOptions.model_fields))
    for stage in options["stages"] or ():
        stage["mixture"] = None  # decides the packed rows, not the training on them
    packing = plan.packing(tokenizer, mixture, recipe)
    length = str(entry.sequence_length)
    inputs: dict[str, Given] = {
        "model": model,
        "packed": plan.folder(plan.paths.packed(tokenizer, *packing)),
        "heldout": plan.folder(plan.paths.heldout_answers(tokenizer, packing[1]))
        if entry.loss == ANSWERS
        else plan.heldout(tokenizer, length),
        "source": source,
    }
    return Step(out, Settings(**options, seed=seed), inputs)
