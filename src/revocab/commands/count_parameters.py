"""Count the parameters of models from their configurations alone."""

from __future__ import annotations

from pathlib import Path

from revocab.command import Command, Nothing
from revocab.models.parameters import ParametersJob


def run(inputs: Nothing, job: ParametersJob, machine: Nothing, out: Path) -> None:
    from revocab.models.parameters import write_parameters

    write_parameters(job.models, out)


COMMAND = Command(run, out="CSV file to write", writes="file")
