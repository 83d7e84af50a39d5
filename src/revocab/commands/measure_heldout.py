"""Measure the held-out loss of models that are not trained here."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Folder, Job
from revocab.command import Command
from revocab.limits import Count
from revocab.models.hub_or_folder import model_field


class Inputs(Closed):
    models: dict[int, Path] = model_field("model folders, by step", min_length=1)
    heldout: Folder = Field(description="folder written by pack_heldout")


class Machine(Closed):
    device: str = Field(default="auto", description="auto, cpu, cuda, ...")
    gpus: Count = Field(default=1, description="GPUs among which a model is divided")


def run(inputs: Inputs, job: Job, machine: Machine, out: Path) -> None:
    from revocab.training.loop.heldout_loss import measure_heldout

    measure_heldout(inputs.models, inputs.heldout, out, machine.device, machine.gpus)


COMMAND = Command(run, out="CSV file to write", writes="file")
