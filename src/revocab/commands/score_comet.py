"""Score the translations of one run with COMET-22 and xCOMET, in their own environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Id
from revocab.command import Command
from revocab.evaluation.options import CometJob


class Inputs(Closed):
    """Outputs and what they answer."""

    generation: Path = Field(description="folder written by generate_text")
    prompts: dict[Id, Path] = Field(
        min_length=1, description="files written by build_prompts, by task"
    )


class Machine(Closed):
    """Where the metric's model runs."""

    batch_size: int = Field(default=16, ge=1)
    gpus: int = Field(default=0, ge=0)


def run(inputs: Inputs, job: CometJob, machine: Machine, out: Path) -> None:
    """Write the table and the scores of items."""
    from revocab.evaluation.comet import score_run

    score_run(
        job.run,
        inputs.generation,
        inputs.prompts,
        job.models,
        out,
        batch_size=machine.batch_size,
        gpus=machine.gpus,
    )


COMMAND = Command(
    run, job=CometJob, inputs=Inputs, machine=Machine, out="CSV file to write", writes="file"
)
