"""Fetch a model: a snapshot of a Hub repository, a copy of a local folder, or a GGUF's folder."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.models.fetch import FetchJob
from revocab.rule import Artefact, Plan, Rule, Step


class Inputs(Closed):
    path: Path | None = Field(
        default=None, description="local model folder, or a .gguf file, of which a folder is made"
    )


def run(inputs: Inputs, job: FetchJob, machine: Nothing, out: Path) -> None:
    from revocab.models.fetch import fetch_model

    fetch_model(out, job, inputs.path)


COMMAND = Command(run, out="DIR/snapshot; DIR/manifest.json is written last")


def planned(plan: Plan, model: str) -> Step:
    entry = plan.experiment.models[model]
    path = Artefact(entry.path, ()) if entry.path else None
    return Step(f"{plan.paths.model(model)}/snapshot", FetchJob.of(entry), {"path": path})


def ids(plan: Plan) -> list[str]:
    return [name for name, model in plan.experiment.models.items() if model.hub or model.path]


RULE = Rule(COMMAND, planned, ids, lasting=True)
