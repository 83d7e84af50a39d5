"""Build a random model of a given shape for a tokenizer, for a demo to pretrain."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Closed, Folder
from revocab.command import Command, Nothing
from revocab.models.hub_or_folder import tokenizer_field
from revocab.models.parameters import StandInJob


class Inputs(Closed):
    tokenizer: Folder = tokenizer_field("tokenizer folder")


def run(inputs: Inputs, job: StandInJob, machine: Nothing, out: Path) -> None:
    from revocab.models.parameters import build_stand_in

    build_stand_in(inputs.tokenizer, job.architecture(), job.context_length, job.seed, out)


COMMAND = Command(run)
