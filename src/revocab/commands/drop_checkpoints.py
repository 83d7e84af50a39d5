"""Remove checkpoints of a finished training that nothing is to read any more (``keep``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Job
from revocab.command import Command, Nothing
from revocab.config.expand import Run
from revocab.config.layout import MANIFEST
from revocab.io import write_json
from revocab.limits import StepNumber
from revocab.marker import DROPPED
from revocab.output import remove_own
from revocab.rule import Artefact, Plan, Rule, Step, artefacts
from revocab.training.outputs.checkpoints import step_folder
from revocab.training.recipe import EVALUATED, LAST


class Inputs(Closed):
    manifest: Path = Field(description="manifest.json of the training's folder")


class DropJob(Job):
    """What is removed."""

    steps: list[StepNumber] = Field(min_length=1, description="steps of the checkpoints")


def run(inputs: Inputs, job: DropJob, machine: Nothing, out: Path) -> None:
    folders = [step_folder(inputs.manifest.parent, step) for step in job.steps]
    # Said first: after a kill in the middle, what is missing is known to be missing on purpose.
    write_json(out, {"removed": [folder.as_posix() for folder in folders]})
    for folder in folders:
        gone = folder.with_name(f".{folder.name}.dropped")  # at no moment half a checkpoint
        if folder.is_dir():
            folder.rename(gone)
        remove_own(gone)
        if gone.is_dir():  # somebody's own files, which stay
            gone.rename(folder)


COMMAND = Command(run, out="JSON file to write", writes="file")


def planned(plan: Plan, run: str) -> Step:
    entry = plan.runs[run]
    readers = readers_of(plan, entry)
    steps = dropped_steps(plan, entry)
    waits = [file for step in steps for file in readers[step]]
    manifest = f"{plan.paths.run(run)}/{MANIFEST}"
    inputs = {"manifest": Artefact.file(manifest)}
    out = f"{plan.paths.run(run)}/{DROPPED}"
    return Step(out, DropJob(steps=steps), inputs, also=list(dict.fromkeys(waits)))


def dropped_steps(plan: Plan, run: Run) -> list[int]:
    keep = plan.experiment.recipes[run.recipe].keep if run.recipe else None
    between = run.steps[1:-1]
    if keep == EVALUATED:
        readers = readers_of(plan, run)
        return [step for step in between if not readers[step]]
    return between if keep == LAST else []


def readers_of(plan: Plan, run: Run) -> dict[int, list[str]]:
    """Return what the jobs that read a run's checkpoints write, by step."""
    from revocab.plan.plan import rules

    paths = {plan.checkpoint(run, step).path: step for step in run.steps}
    readers: dict[int, list[str]] = {step: [] for step in run.steps}
    for rule in rules().values():
        if rule.name in (RULE.name, "check_artefacts"):
            continue
        for step in (plan.job("--".join([rule.name, *ids])) for ids in rule.known(plan)):
            written = step.out if rule.command.writes == "file" else f"{step.out}/{MANIFEST}"
            read = {item.path for named in step.inputs.values() for item in artefacts(named)}
            for path in sorted(read & paths.keys()):
                readers[paths[path]].append(written)
    return readers


def ids(plan: Plan) -> Iterator[str]:
    for name in plan.trained:
        if dropped_steps(plan, plan.runs[name]):
            yield name


RULE = Rule(COMMAND, planned, ids)
