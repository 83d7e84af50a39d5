"""Keep the conversations that a judge finds good: a rule, or a chat model."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.answering.options import CONVERSATIONS, JudgeJob
from revocab.closed import Closed
from revocab.command import Command
from revocab.evaluation.options import AnswerHardware
from revocab.models.hub_or_folder import model_field
from revocab.rule import Artefact, Given, Plan, Rule, Step


class Inputs(Closed):
    conversations: Path = Field(description="file of conversations, such as answer writes")
    model: Path | None = model_field("model folder of the judge", default=None)


def run(inputs: Inputs, job: JudgeJob, machine: AnswerHardware, out: Path) -> None:
    from revocab.answering.judged import judge_folder

    judge_folder(inputs.conversations, inputs.model, job, machine, out)


COMMAND = Command(run, finds=("answering/judges", "evaluation/inference/engines"))


def planned(plan: Plan, corpus: str) -> Step:
    answers = plan.experiment.corpora[corpus].answers
    assert answers is not None and answers.judge is not None  # or there would be no such job
    file = f"{plan.paths.answers(corpus)}/{CONVERSATIONS}"
    inputs: dict[str, Given] = {
        "conversations": Artefact.file(file),
        "model": plan.referred(answers.judge_model) if answers.judge_model else None,
    }
    job = JudgeJob(kind=answers.judge.kind, option=answers.judge.given())
    return Step(plan.paths.judged(corpus), job, inputs)


def ids(plan: Plan) -> list[str]:
    corpora = plan.experiment.corpora.items()
    return [name for name, corpus in corpora if corpus.answers and corpus.answers.judge]


RULE = Rule(COMMAND, planned, ids, lasting=True)
