"""Initialise a model for a new vocabulary and write a folder that loads everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command
from revocab.initialise.options import InitInputs, InitJob
from revocab.initialise.reading.token_vectors import vector_files
from revocab.rule import Artefact, Given, Plan, Rule, Step


class Machine(Closed):
    device: str = Field(default="cpu", description="device to compute on, such as cuda")
    quiet: bool = Field(default=False, description="print only warnings")


def run(inputs: InitInputs, job: InitJob, machine: Machine, out: Path) -> None:
    from revocab.initialise.adapted_model import initialise_model
    from revocab.progress import silent, spoken

    say = silent if machine.quiet else spoken()
    initialise_model(inputs, job, out, device=machine.device, say=say)


COMMAND = Command(run, remakes=("source", ""), finds=("initialise/methods",))


def planned(plan: Plan, run: str) -> Step:
    entry = plan.runs[run]
    inputs: dict[str, Given] = {"source": plan.origin(entry)}
    # The source's own tokenizer folder decides only where the vocabulary is kept.
    decided: dict[str, Any] = {}
    if not entry.keeps_vocabulary:
        decided = {"identity": entry.identity, "languages": plan.languages(entry)}
        inputs["target_tokenizer"] = plan.tokenizer(entry.target)
        inputs["pairs"] = plan.intersection(entry.source_tokenizer, entry.target)
    if entry.helper:
        inputs["helper"] = plan.model(entry.helper)
        inputs["helper_pairs"] = plan.helper_pairs(entry.helper, entry.target)
    if entry.donor:
        inputs["adapted"] = plan.other(entry.donor)
        inputs["base"] = plan.root(entry.donor[0])
    if entry.auxiliary:
        inputs["auxiliary"] = plan.folder(plan.paths.auxiliary(entry.target))
    if entry.vectors:
        inputs["auxiliary"] = vectors(plan)
    job = InitJob(method=entry.method, option=entry.options, seed=entry.seed, **decided)
    return Step(f"{plan.paths.run(run)}/init", job, inputs)


def vectors(plan: Plan) -> Artefact:
    auxiliary = plan.experiment.auxiliary
    assert auxiliary is not None and auxiliary.vectors is not None  # a run asks for it
    return Artefact(auxiliary.vectors, tuple(map(str, vector_files(Path(auxiliary.vectors)))))


RULE = Rule(
    COMMAND, planned, lambda plan: [run.id for run in plan.runs.values() if run.made], lasting=True
)
