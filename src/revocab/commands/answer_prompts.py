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
from revocab.rule import Given, Plan, Rule, Step


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


def planned(plan: Plan, corpus: str) -> Step:
    entry = plan.experiment.corpora[corpus]
    answers = entry.answers
    assert answers is not None  # or there would be no such job
    job = AnswerJob.of(entry, answers, source=entry.source.form)
    inputs: dict[str, Given] = {
        "model": plan.referred(answers.model),
        "files": plan.source(entry.source),
        "chat_template": plan.chat_template(answers.chat_template),
    }
    return Step(plan.paths.answers(corpus), job, inputs)


def ids(plan: Plan) -> list[str]:
    return [name for name, corpus in plan.experiment.corpora.items() if corpus.answers]


RULE = Rule(COMMAND, planned, ids, lasting=True)
