"""One training run: what it is asked to do, where it reads and writes, and on which machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from revocab import io
from revocab.closed import Closed, Folder, Job
from revocab.errors import RevocabError
from revocab.limits import BatchSize, Count, Positive, Seed
from revocab.models.hub_or_folder import model_field
from revocab.training.recipe import ALL, TrainingOptions
from revocab.training.stages import Stage, StagePlan

MICRO_BATCH = "micro_batch.json"
#: The order in which manifests list the settings.
DESCRIBED = (
    "steps", "batch_size", "learning_rate", "checkpoint_every", "seed", "warmup_steps", "schedule",
    "final_learning_rate_share", "adam_beta1", "adam_beta2", "adam_epsilon", "weight_decay",
    "gradient_clip", "precision",
)  # fmt: skip


def largest_divisor(number: int, most: int) -> int:
    """Return the largest divisor of a number from 1 to ``most``."""
    return next((divisor for divisor in range(most, 1, -1) if number % divisor == 0), 1)


def halved(size: int, share: int) -> int | None:
    return largest_divisor(share, size // 2) if size > 1 else None


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


@dataclass
class MicroBatch:
    """How many sequences of a process's share of a step go through the model at once.

    Chosen once, halved when a forward or backward pass has no memory, and recorded. A step's loss
    is the mean over its sequences however they are divided, so this changes rounding and nothing
    else. The record stands beside the resume states, so that a run that goes on divides its steps
    as before, and ends with the same bytes.
    """

    #: Sequences of a step that this process has.
    share: int
    #: Of these, how many at once.
    size: int
    #: What the machine's options say; another value makes the record void.
    requested: int | None
    processes: int
    #: Where the record is kept: the folder of resume states.
    root: Path

    @classmethod
    def of(cls, batch_size: int, requested: int | None, processes: int, root: Path) -> MicroBatch:
        """Return at most ``requested`` sequences that divide a process's share of the batch.

        Raises :class:`RevocabError` if the batch does not divide among the processes.
        """
        share, rest = divmod(batch_size, processes)
        if rest:
            raise RevocabError(
                f"--batch-size: {batch_size} is not a multiple of {processes} processes; start"
                f" {largest_divisor(batch_size, processes)}"
            )
        size = largest_divisor(share, min(requested or share, share))
        return cls(share, size, requested, processes, root)

    @property
    def _key(self) -> dict[str, int | None]:
        """What the record is for."""
        return {"requested": self.requested, "processes": self.processes}

    def recorded(self) -> int | None:
        """Return the size that an earlier start of this training ended with, if that applies."""
        path = self.root / MICRO_BATCH
        record = io.read_json(path) if path.is_file() else {}
        size = record.pop("micro_batch", None)
        return size if record == self._key else None

    def record(self) -> None:
        io.write_json(self.root / MICRO_BATCH, {**self._key, "micro_batch": self.size})

    def halve(self) -> str:
        """Halve the size, record it, and return a line that says so.

        Raises :class:`RevocabError` where there is nothing to halve, and among several processes:
        those that still have memory wait for this one, so all have to start again.
        """
        before, smaller = self.size, halved(self.size, self.share)
        if smaller is None:
            raise RevocabError(
                "out of memory with one sequence per forward pass; set activation_checkpointing,"
                " or fsdp on several devices, or use a device with more memory"
            )
        self.size = smaller
        self.record()
        line = f"out of memory with {before} sequences per forward pass"
        if self.processes > 1:
            raise RevocabError(
                f"{line}; run the same command again: it goes on from the last state with {smaller}"
            )
        return f"{line}; going on with {smaller}"


def fingerprint(settings: Settings, inputs: Mapping[str, Any]) -> str:
    """Return a hash of the recipe and of the checksums of its inputs, whatever the devices."""
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
