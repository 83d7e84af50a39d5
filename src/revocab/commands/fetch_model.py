"""Fetch a model: a snapshot of a Hub repository, or a copy of a local folder."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.models.fetch import FetchJob


class Inputs(Closed):
    """A local model, in place of one on the Hub."""

    path: Path | None = Field(default=None, description="local model folder")


def run(inputs: Inputs, job: FetchJob, machine: Nothing, out: Path) -> None:
    """Fill the snapshot folder."""
    from revocab.models.fetch import fetch_model

    fetch_model(out, hub=job.hub, revision=job.revision, path=inputs.path)


COMMAND = Command(
    run,
    job=FetchJob,
    inputs=Inputs,
    out="DIR/snapshot; DIR/manifest.json is written last",
)
