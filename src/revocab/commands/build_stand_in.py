"""Build a random model of a given shape for a tokenizer, for a demo to pretrain."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.models.hub_or_folder import tokenizer_field
from revocab.models.parameters import StandInJob
from revocab.rule import Plan, Rule, Step


class Inputs(Closed):
    tokenizer: Path = tokenizer_field("tokenizer folder")


def run(inputs: Inputs, job: StandInJob, machine: Nothing, out: Path) -> None:
    from revocab.models.parameters import build_stand_in

    build_stand_in(inputs.tokenizer, job.architecture(), job.context_length, job.seed, out)


COMMAND = Command(run)


def planned(plan: Plan, model: str) -> Step:
    entry = plan.experiment.models[model]
    assert entry.pretrain is not None  # or there would be no such job
    job = StandInJob.of(entry.pretrain, entry.pretrain.architecture, seed=plan.experiment.seed)
    out = f"{plan.paths.model(model)}/untrained"
    return Step(out, job, {"tokenizer": plan.tokenizer(entry.tokenizer)})


RULE = Rule(COMMAND, planned, lambda plan: plan.stand_ins, lasting=True)
