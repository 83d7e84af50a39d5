"""Score the translations of one run with COMET-22 and xCOMET, in their own environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Folder, Id
from revocab.command import Command
from revocab.evaluation.options import CometHardware, CometJob


class Inputs(Closed):
    generation: Folder = Field(description="folder written by generate")
    prompts: dict[Id, Path] = Field(
        min_length=1, description="files written by build_prompts, by task"
    )


def run(inputs: Inputs, job: CometJob, machine: CometHardware, out: Path) -> None:
    from revocab.evaluation.generation.comet import score_run

    score_run(job.run, inputs.generation, inputs.prompts, job.models, out, machine)


COMMAND = Command(
    run, out="CSV file to write", writes="file", finds=("evaluation/generation/kinds",)
)
