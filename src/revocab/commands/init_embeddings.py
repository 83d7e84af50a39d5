"""Initialise a model for a new vocabulary and write a folder that loads everywhere."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command
from revocab.initialise.options import InitInputs, InitJob


class Machine(Closed):
    device: str = Field(default="cpu", description="device to compute on, such as cuda")
    quiet: bool = Field(default=False, description="print only warnings")


def run(inputs: InitInputs, job: InitJob, machine: Machine, out: Path) -> None:
    from revocab.initialise.adapted_model import initialise_model
    from revocab.progress import silent, spoken

    say = silent if machine.quiet else spoken()
    initialise_model(inputs, job, out, device=machine.device, say=say)


COMMAND = Command(run, remakes=("source", ""), finds=("initialise/methods",))
