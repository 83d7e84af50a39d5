"""Find the tokens that two vocabularies share, by what they stand for."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.intersection.intersect import IntersectionJob
from revocab.models.hub_or_folder import tokenizer_field
from revocab.rule import Plan, Rule, Step


class Inputs(Closed):
    source: Path = tokenizer_field("source tokenizer folder, or .tiktoken file")
    target: Path = tokenizer_field("target tokenizer folder, or .tiktoken file")


def run(inputs: Inputs, job: IntersectionJob, machine: Nothing, out: Path) -> str:
    from revocab.intersection.intersect import intersect_folders

    report = intersect_folders(inputs.source, inputs.target, job, out).report
    return (
        f"{out}/report.md: {report['overlap']:,} of the target's {report['target_size']:,} tokens"
        f" take a row of the source; {report['missing']:,} are new\n"
        f"next: revocab init --source MODEL --target-tokenizer {inputs.target} makes their rows"
    )


COMMAND = Command(run)


def planned(plan: Plan, source: str, target: str) -> Step:
    roles = plan.experiment.roles
    job = IntersectionJob(
        **plan.identity(source, target),
        source_roles=roles.get(source, {}),
        target_roles=roles.get(target, {}),
    )
    inputs = {"source": plan.tokenizer(source), "target": plan.tokenizer(target)}
    return Step(plan.paths.intersection(source, target), job, inputs)


RULE = Rule(COMMAND, planned, lambda plan: plan.intersections, lasting=True)
