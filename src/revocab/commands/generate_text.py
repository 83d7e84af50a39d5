"""Generate greedily with checkpoints of one run on stored prompts, and score the outputs."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Id
from revocab.command import Command
from revocab.evaluation.inference.chat_prompts import chat_template_input, template_text
from revocab.evaluation.options import Generating, GenerationHardware, GenerationJob
from revocab.models.hub_or_folder import model_field


class Inputs(Closed):
    models: dict[int, Path] = model_field("model folders, by step", min_length=1)
    prompts: dict[Id, Path] = Field(
        min_length=1, description="files written by build_prompts, by task"
    )
    chat_template: Path | None = chat_template_input()


def run(inputs: Inputs, job: GenerationJob, machine: GenerationHardware, out: Path) -> None:
    from revocab.evaluation.generation.generate import generate_checkpoints

    options = Generating(
        **job.model_dump(exclude={"run"}),
        **machine.model_dump(),
        chat_template=template_text(inputs.chat_template, job.chat),
    )
    generate_checkpoints(job.run, inputs.models, inputs.prompts, out, options)


COMMAND = Command(run, finds=("evaluation/generation/kinds", "evaluation/inference/engines"))
