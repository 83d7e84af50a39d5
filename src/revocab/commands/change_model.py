"""Make a model of another one: expand its blocks (docs/methods.md)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command
from revocab.models.change import ChangeJob
from revocab.models.hub_or_folder import model_field
from revocab.rule import Plan, Rule, Step


class Inputs(Closed):
    model: Path = model_field("model folder (safetensors) to change")


class Machine(Closed):
    quiet: bool = Field(default=False, description="print only warnings")


def run(inputs: Inputs, job: ChangeJob, machine: Machine, out: Path) -> None:
    from revocab.models.changed_model import change_model
    from revocab.progress import silent, spoken

    change_model(job, inputs.model, out, silent if machine.quiet else spoken())


COMMAND = Command(run, remakes=("model", ""), finds=("models/changes",))


def planned(plan: Plan, model: str) -> Step:
    change = plan.experiment.models[model].change()
    assert change is not None  # or there would be no such job
    name, options = change
    job = ChangeJob(change=name, option=options.given())
    return Step(plan.paths.model(model), job, {"model": plan.referred(options.model)})


def ids(plan: Plan) -> list[str]:
    return [name for name, model in plan.experiment.models.items() if model.change()]


RULE = Rule(COMMAND, planned, ids, lasting=True)
