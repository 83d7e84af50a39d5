"""Write the few-shot prompts of one generation task, and a manifest of their sources."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.generation.prompts import PromptJob
from revocab.rule import Plan, Rule, Step


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


def planned(plan: Plan, task: str) -> Step:
    from revocab.config.check_tasks import asked_as_taught

    entry = asked_as_taught(plan.experiment, plan.experiment.evaluation.generation.tasks[task])
    job = PromptJob.of(
        entry,
        option=entry.model_dump(mode="json", include=set(find_kind(entry.kind).own_options)),
        task=task,
        seed=plan.experiment.seed,
        pool=entry.pool.form,
        test=entry.test.form,
    )
    inputs = {"pool_files": plan.task_text(entry.pool), "test_files": plan.task_text(entry.test)}
    return Step(plan.paths.prompts(task), job, inputs)


RULE = Rule(COMMAND, planned, lambda plan: plan.experiment.evaluation.generation.tasks)
