"""Fetch a model: a snapshot of a Hub repository, a copy of a local folder, or a GGUF's folder."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.models.fetch import FetchJob


class Inputs(Closed):
    path: Path | None = Field(
        default=None, description="local model folder, or a .gguf file, of which a folder is made"
    )


def run(inputs: Inputs, job: FetchJob, machine: Nothing, out: Path) -> None:
    from revocab.models.fetch import fetch_model

    fetch_model(out, job, inputs.path)


COMMAND = Command(run, out="DIR/snapshot; DIR/manifest.json is written last")
