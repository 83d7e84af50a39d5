"""Train a model folder on packed rows by a recipe; resumable; exports and evaluates checkpoints."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command
from revocab.models.hub_or_folder import model_field
from revocab.rule import Artefact, Given, Plan, Step
from revocab.training.named_recipes import NamedRecipe
from revocab.training.recipe import ANSWERS, TrainingOptions
from revocab.training.settings import Settings


class Inputs(Closed):
    """Model and data."""

    model: Path = model_field("model folder")
    packed: Path = Field(description="folder written by pack_tokens")
    heldout: Path = Field(description="folder written by pack_heldout")
    source: Path | None = model_field(
        "folder of the model that the model was made from; for vocabulary adapters", default=None
    )


class Machine(Closed):
    """What the computer gives; losses depend on none of it beyond rounding."""

    micro_batch: int | None = Field(
        default=None,
        ge=1,
        description="sequences per forward pass; default: on a GPU as many as should fit its free"
        " memory, else the batch divided among the processes",
    )
    state_minutes: float = Field(
        default=30, gt=0, description="minutes between saved resume states, besides checkpoints"
    )
    fsdp: bool = Field(default=False, description="shard the model over the processes of torchrun")
    activation_checkpointing: bool = Field(
        default=False, description="recompute activations instead of storing them"
    )
    compile: bool = Field(default=False, description="use torch.compile")
    tensorboard: bool = Field(default=False, description="also write TensorBoard event files")
    stop_at_rise: float | None = Field(
        default=None,
        gt=0,
        description="stop when a loss is this many nats above the mean of the 50 steps before",
    )
    peak_flops: float | None = Field(
        default=None, description="peak FLOP/s of one device; default: measured"
    )
    watts: float | None = Field(
        default=None,
        description="power in watts, where no energy counter can be read",
    )
    carbon_intensity: float | None = Field(default=None, description="grams of CO2 per kWh")
    threads: int | None = Field(default=None, ge=1, description="CPU threads; default: torch's")


#: What ``engine.TrainingEngine`` takes of the machine.
ENGINE = {"fsdp", "activation_checkpointing", "compile"}


def run(inputs: Inputs, job: Settings, machine: Machine, out: Path) -> None:
    from revocab.training.machine.slurm_tasks import process_variables
    from revocab.training.machine.startup import pretend_absent

    os.environ.update(process_variables(os.environ))

    adapters = any(stage.lora for stage in job.stages or ())
    pretend_absent("datasets", "scipy", *([] if adapters else ["peft"]))
    gc.disable()  # imports leave no garbage: collecting it would take half a second

    import psutil

    if machine.threads is not None:
        import torch

        torch.set_num_threads(machine.threads)

    import revocab.training.loop.trainer  # noqa: F401  (the slow one)
    from revocab.training.machine.costs import Costs
    from revocab.training.train import TrainingRun, train

    gc.enable()
    train(
        TrainingRun(
            model=inputs.model,
            packed=inputs.packed,
            heldout=inputs.heldout,
            out=out,
            settings=job,
            source=inputs.source,
            micro_batch=machine.micro_batch,
            state_minutes=machine.state_minutes,
            stop_at_rise=machine.stop_at_rise,
            costs=Costs(machine.peak_flops, machine.watts, machine.carbon_intensity),
            tensorboard=machine.tensorboard,
            engine=machine.model_dump(include=ENGINE),
            started=psutil.Process().create_time(),
        )
    )


COMMAND = Command(run, job=Settings, inputs=Inputs, machine=Machine, shorthand=NamedRecipe)


def training(
    plan: Plan,
    out: str,
    model: Artefact,
    ids: tuple[str, str, str],
    seed: int,
    source: Artefact | None = None,
) -> Step:
    """Return the job that trains a model: ``ids`` are those of tokenizer, mixture and recipe."""
    tokenizer, mixture, recipe = ids
    entry = plan.experiment.recipes[recipe]
    options = entry.model_dump(include=set(TrainingOptions.model_fields))
    for stage in options["stages"] or ():
        stage["mixture"] = None  # decides the packed rows, not the training on them
    packing = plan.packing(tokenizer, mixture, recipe)
    length = str(entry.sequence_length)
    inputs: dict[str, Given] = {
        "model": model,
        "packed": plan.folder(
            plan.paths.packed(tokenizer, *packing),
            maker="--".join(["pack_tokens", tokenizer, *packing]),
        ),
        "heldout": plan.folder(
            plan.paths.heldout_answers(tokenizer, packing[1]),
            maker=f"pack_heldout_answers--{tokenizer}--{packing[1]}",
        )
        if entry.loss == ANSWERS
        else plan.heldout(tokenizer, length),
        "source": source,
    }
    return Step(out, Settings(**options, seed=seed), inputs)
