"""Make a multiple-choice task's items from the held-out documents of corpora, by rule."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Id
from revocab.command import Command, Nothing
from revocab.evaluation.probes.build import ProbeJob
from revocab.rule import Plan, Rule, Step


class Inputs(Closed):
    corpora: dict[Id, Path] = Field(min_length=1, description="prepared corpora, by id")


def run(inputs: Inputs, job: ProbeJob, machine: Nothing, out: Path) -> None:
    from revocab.evaluation.probes.build import write_probe

    write_probe(job, inputs.corpora, out)


COMMAND = Command(run, finds=("evaluation/probes/kinds",))


def planned(plan: Plan, task: str) -> Step:
    entry = plan.experiment.evaluation.multiple_choice.tasks[task]
    assert entry.probe is not None  # or there would be no such job
    job = ProbeJob.of(entry.probe, language=entry.language, seed=plan.experiment.seed)
    inputs = {"corpora": plan.corpora(entry.probe.corpora, "heldout")}
    return Step(plan.paths.probe(task), job, inputs)


def ids(plan: Plan) -> list[str]:
    tasks = plan.experiment.evaluation.multiple_choice.tasks
    return [name for name, task in tasks.items() if task.probe]


RULE = Rule(COMMAND, planned, ids)
