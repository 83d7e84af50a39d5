"""Where one training reads and writes, what it is asked to do, and on which machine."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.models.hub_or_folder import model_field
from revocab.training.settings import Settings


class TrainingFolders(Closed):
    """Model and data."""

    model: Path = model_field("model folder")
    packed: Path = Field(description="folder written by pack_tokens")
    heldout: Path = Field(description="folder written by pack_heldout")
    source: Path | None = model_field(
        "folder of the model that the model was made from; for vocabulary adapters", default=None
    )


class TrainingMachine(Closed):
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


class TrainingRun(TrainingFolders, TrainingMachine):
    """One training run."""

    out: Path
    settings: Settings
    #: Seconds since the epoch when the process started, for the start-up time.
    started: float | None = None
