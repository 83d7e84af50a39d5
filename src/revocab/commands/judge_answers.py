"""Keep the conversations that a judge finds good: a rule, or a chat model."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.answering.judge import JudgeJob
from revocab.closed import Closed
from revocab.command import Command
from revocab.evaluation.options import AnswerHardware
from revocab.models.hub_or_folder import model_field


class Inputs(Closed):
    conversations: Path = Field(description="file of conversations, such as answer writes")
    model: Path | None = model_field("model folder of the judge", default=None)


def run(inputs: Inputs, job: JudgeJob, machine: AnswerHardware, out: Path) -> None:
    from revocab.answering.judged import judge_folder

    judge_folder(inputs.conversations, inputs.model, job, machine, out)


COMMAND = Command(run, finds=("answering/judges", "evaluation/inference/engines"))
