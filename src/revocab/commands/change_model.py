"""Make a model of another one: expand its blocks (docs/methods.md)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command
from revocab.models.change import ChangeJob
from revocab.models.hub_or_folder import model_field


class Inputs(Closed):
    model: Path = model_field("model folder (safetensors) to change")


class Machine(Closed):
    quiet: bool = Field(default=False, description="print only warnings")


def run(inputs: Inputs, job: ChangeJob, machine: Machine, out: Path) -> None:
    from revocab.models.changed_model import change_model
    from revocab.progress import silent, spoken

    change_model(job, inputs.model, out, silent if machine.quiet else spoken())


COMMAND = Command(run, remakes=("model", ""), finds=("models/changes",))
