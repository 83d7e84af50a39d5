"""One training run: what it is asked to do, where it reads and writes, and on which machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from revocab.closed import Closed, Folder, Job
from revocab.errors import RevocabError
from revocab.limits import BatchSize, Count, Positive, Seed
from revocab.models.hub_or_folder import model_field
from revocab.training.machine.micro_batch import largest_divisor
from revocab.training.recipe import ALL, TrainingOptions
from revocab.training.stage import Stage
from revocab.training.stages import StagePlan

#: The order in which manifests list the settings.
DESCRIBED = (
    "steps", "batch_size", "learning_rate", "checkpoint_every", "seed", "warmup_steps", "schedule",
    "final_learning_rate_share", "adam_beta1", "adam_beta2", "adam_epsilon", "weight_decay",
    "gradient_clip", "precision",
)  # fmt: skip


class Settings(TrainingOptions, Job):
    """What decides a training beside its inputs: a recipe's :class:`TrainingOptions` and a seed."""

    seed: Seed = Field(
        description="seed of dropout, and of the order of rows if it is not the packing's"
    )

    @model_validator(mode="after")
    def _fits(self) -> Settings:
        if self.warmup_steps > self.steps:
            raise ValueError(f"warmup_steps: {self.warmup_steps}; give 0 to {self.steps} (steps)")
        total = sum(stage.steps for stage in self.stages or ())
        if self.stages and total != self.steps:
            raise ValueError(
                f"stages: {total} steps in all, but steps is {self.steps}; make them equal"
            )
        return self

    @property
    def plan(self) -> StagePlan:
        """The stages, or the one stage that a recipe without stages is."""
        whole = self.model_dump(include=set(Stage.model_fields))
        return StagePlan(self.stages or [Stage(name="everything", **whole)])

    def described(self) -> dict[str, Any]:
        """Return the settings as plain data; what need not be given, only where it is."""
        settings = {name: getattr(self, name) for name in DESCRIBED}
        if self.heldout_every is not None:
            settings["heldout_every"] = self.heldout_every
        if self.keep_best:
            settings["keep_best"] = True
        if self.loss != ALL:
            settings["loss"] = self.loss
        if self.stages:
            settings["stages"] = [stage.described() for stage in self.stages]
        return settings

    def micro_batch(self, requested: int | None, processes: int) -> tuple[int, int]:
        """Return (sequences per process and pass, passes per step) that make up ``batch_size``.

        At most as many sequences as ``requested`` that divide a process' share. Raises
        :class:`RevocabError` if the batch does not divide among the processes.
        """
        share, rest = divmod(self.batch_size, processes)
        if rest:
            raise RevocabError(
                f"--batch-size: {self.batch_size} is not a multiple of {processes} processes; start"
                f" {largest_divisor(self.batch_size, processes)}"
            )
        micro = largest_divisor(share, min(requested or share, share))
        return micro, share // micro


def fingerprint(settings: Settings, inputs: Mapping[str, Any]) -> str:
    """Return a hash of the recipe and of the checksums of its inputs.

    Number of processes and micro batch are left out: a run may go on with other devices.
    """
    text = json.dumps({"settings": settings.described(), "inputs": dict(inputs)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class TrainingFolders(Closed):
    """Model and data."""

    model: Path = model_field("model folder")
    packed: Folder = Field(description="folder written by pack")
    heldout: Folder = Field(description="folder written by pack_heldout")
    source: Path | None = model_field(
        "folder of the model that the model was made from; for vocabulary adapters",
        default=None,
    )


class TrainingMachine(Closed):
    """What the computer gives; losses depend on none of it beyond rounding."""

    micro_batch: BatchSize | None = Field(
        default=None,
        description="sequences per forward pass at most; default: on a GPU as many as should fit"
        " its free memory, else the batch divided among the processes",
    )
    state_minutes: Positive | None = Field(
        default=None,
        description="minutes between saved resume states, besides checkpoints; default: one, or"
        " eight times as long as saving takes",
    )
    fsdp: bool = Field(default=False, description="shard the model over the processes of torchrun")
    activation_checkpointing: bool = Field(
        default=False, description="recompute activations instead of storing them"
    )
    compile: bool = Field(default=False, description="use torch.compile")
    tensorboard: bool = Field(default=False, description="also write TensorBoard event files")
    stop_at_rise: Positive | None = Field(
        default=None,
        description="stop when a loss is this many nats above the mean of the 50 steps before",
    )
    threads: Count | None = Field(default=None, description="CPU threads; default: torch's")


class TrainingRun(TrainingFolders, TrainingMachine):
    """One training run."""

    out: Path
    settings: Settings
    #: Seconds since the epoch when the process started, for the start-up time.
    started: float | None = None
