"""Make a multiple-choice task's items from the held-out documents of corpora, by rule."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Id
from revocab.command import Command, Nothing
from revocab.evaluation.probes.build import ProbeJob


class Inputs(Closed):
    """Prepared text."""

    corpora: dict[Id, Path] = Field(min_length=1, description="prepared corpora, by id")


def run(inputs: Inputs, job: ProbeJob, machine: Nothing, out: Path) -> None:
    """Write the items' folder."""
    from revocab.evaluation.probes.build import write_probe

    write_probe(job, inputs.corpora, out)


COMMAND = Command(run, job=ProbeJob, inputs=Inputs)
