"""Count the parameters of models from their configurations alone."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Job
from revocab.command import Command, Nothing
from revocab.models.parameters import ParameterCount


class ParametersJob(Job):
    """The models to count, one row each."""

    models: list[ParameterCount] = Field(default_factory=list, description="label, size, shape")


def run(inputs: Nothing, job: ParametersJob, machine: Nothing, out: Path) -> None:
    """Write the table."""
    from revocab.models.parameters import write_parameters

    write_parameters(job.models, out)


COMMAND = Command(run, job=ParametersJob, out="CSV file to write", writes="file")
