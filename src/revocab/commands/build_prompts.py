"""Write the few-shot prompts of one generation task, and a manifest of their sources."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.evaluation.generation.prompts import PromptJob


class Inputs(Closed):
    pool_files: list[Path] = Field(
        default_factory=list, description="files of the rows that shots are drawn from"
    )
    test_files: list[Path] = Field(
        default_factory=list, description="files of the rows that become queries"
    )


def run(inputs: Inputs, job: PromptJob, machine: Nothing, out: Path) -> None:
    from revocab.evaluation.generation.prompts import write_prompts

    write_prompts(job, inputs.pool_files, inputs.test_files, out)


COMMAND = Command(
    run, out="JSONL file to write", writes="file", finds=("evaluation/generation/kinds",)
)
