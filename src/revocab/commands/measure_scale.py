"""Measure time and memory of every method at a real model's embedding shape."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Folder
from revocab.command import Command, Nothing
from revocab.initialise.options import ScaleJob
from revocab.models.hub_or_folder import tokenizer_field


class Inputs(Closed):
    source_tokenizer: Folder = tokenizer_field("tokenizer folder")
    target_tokenizer: Folder = tokenizer_field("tokenizer folder")
    pairs: Folder | None = Field(
        default=None, description="folder written by intersect; default: computed"
    )


def run(inputs: Inputs, job: ScaleJob, machine: Nothing, out: Path) -> None:
    from revocab.initialise.cost_at_scale import measure_to
    from revocab.initialise.reading.vocabularies import Vocabularies

    vocabularies = Vocabularies(
        inputs.source_tokenizer, inputs.target_tokenizer, job.identity, inputs.pairs
    )
    measure_to(out, job, vocabularies)


COMMAND = Command(run, finds=("initialise/methods",))
