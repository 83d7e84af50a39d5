"""Initialise a model for a new vocabulary and write a folder that loads everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command
from revocab.initialise.inputs import InitInputs
from revocab.initialise.options import InitJob
from revocab.initialise.reading.token_vectors import vector_files
from revocab.rule import Artefact, Given, Plan, Rule, Step


class Machine(Closed):
    """Where matrices are computed."""

    device: str = Field(default="cpu", description="device to compute on, such as cuda")
    quiet: bool = Field(default=False, description="print only warnings")


def run(inputs: InitInputs, job: InitJob, machine: Machine, out: Path) -> None:
    from revocab.initialise.adapted_model import initialise_model
    from revocab.progress import silent, spoken

    say = silent if machine.quiet else spoken()
    initialise_model(inputs, job, out, device=machine.device, say=say)


COMMAND = Command(
    run, job=InitJob, inputs=InitInputs, machine=Machine, finds=("initialise/methods",)
)


def planned(plan: Plan, run: str) -> Step:
    of = plan.runs[run]
    inputs: dict[str, Given] = {"source": plan.origin(of)}
    # The source's own tokenizer folder decides only where the vocabulary is kept.
    decided: dict[str, Any] = {}
    if not of.keeps_vocabulary:
        decided = {"identity": of.identity, "languages": plan.languages(of)}
        inputs["target_tokenizer"] = plan.tokenizer(of.target)
        inputs["pairs"] = plan.intersection(of.source_tokenizer, of.target)
    if of.helper:
        inputs["helper"] = plan.model(of.helper)
        inputs["helper_pairs"] = plan.helper_pairs(of.helper, of.target)
    if of.donor:
        inputs["adapted"] = plan.other(of.donor)
        inputs["base"] = plan.root(of.donor[0])
    if of.auxiliary:
        maker = f"train_auxiliary--{of.target}"
        inputs["auxiliary"] = plan.folder(plan.paths.auxiliary(of.target), maker=maker)
    if of.vectors:
        inputs["auxiliary"] = vectors(plan)
    job = InitJob(method=of.method, option=of.options, seed=of.seed, **decided)
    return Step(f"{plan.paths.run(run)}/init", job, inputs)


def vectors(plan: Plan) -> Artefact:
    """Return the experiment's file of vectors by token text, with the texts if they are apart."""
    auxiliary = plan.experiment.auxiliary
    assert auxiliary is not None and auxiliary.vectors is not None  # a run asks for it
    return Artefact(auxiliary.vectors, tuple(map(str, vector_files(Path(auxiliary.vectors)))))


RULE = Rule(
    COMMAND, planned, lambda plan: [run.id for run in plan.runs.values() if run.made], lasting=True
)
