"""Let a model answer the questions of conversations itself, greedily, through its chat template."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.answering.options import AnswerJob
from revocab.closed import Closed
from revocab.command import Command
from revocab.evaluation.inference.chat_prompts import chat_template_input
from revocab.evaluation.options import AnswerHardware
from revocab.models.hub_or_folder import model_field


class Inputs(Closed):
    model: Path = model_field("model folder")
    files: list[Path] = Field(
        default_factory=list, description="files of conversations, whose answers are not read"
    )
    chat_template: Path | None = chat_template_input()


def run(inputs: Inputs, job: AnswerJob, machine: AnswerHardware, out: Path) -> None:
    from revocab.answering.answer import answer_folder

    answer_folder(inputs.model, inputs.files, job, machine, out, inputs.chat_template)


COMMAND = Command(run, finds=("evaluation/inference/engines",))
