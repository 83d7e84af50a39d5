"""Generate the demo's invented bilingual world: documents, parallel text, questions, benchmarks."""

from __future__ import annotations

from pathlib import Path

from revocab.command import Command, Nothing
from revocab.demoworld.build import WorldJob
from revocab.rule import Plan, Rule, Step


def run(inputs: Nothing, job: WorldJob, machine: Nothing, out: Path) -> None:
    from revocab.demoworld.build import write_world

    write_world(out, job)


COMMAND = Command(run)


def planned(plan: Plan) -> Step:
    world = plan.experiment.world
    assert world is not None  # or there would be no such job
    return Step(plan.paths.world, WorldJob(**world.model_dump()))


RULE = Rule(COMMAND, planned, lambda plan: [()] if plan.experiment.world else [], lasting=True)
