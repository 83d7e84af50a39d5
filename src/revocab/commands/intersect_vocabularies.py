"""Find the tokens that two vocabularies share, by what they stand for."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.intersection.intersect import IntersectionJob
from revocab.models.hub_or_folder import tokenizer_field


class Inputs(Closed):
    """Two tokenizers."""

    source: Path = tokenizer_field("source tokenizer folder, or .tiktoken file")
    target: Path = tokenizer_field("target tokenizer folder, or .tiktoken file")


def run(inputs: Inputs, job: IntersectionJob, machine: Nothing, out: Path) -> None:
    """Write the intersection's folder."""
    from revocab.intersection.intersect import intersect_folders

    intersect_folders(inputs.source, inputs.target, job, out)


COMMAND = Command(run, job=IntersectionJob, inputs=Inputs)
