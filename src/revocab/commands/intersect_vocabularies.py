"""Find the tokens that two vocabularies share, by what they stand for."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.models.given import tokenizer_field
from revocab.vocabulary.intersection import IntersectionJob


class Inputs(Closed):
    """Two tokenizers."""

    source: Path = tokenizer_field("source tokenizer folder, or .tiktoken file")
    target: Path = tokenizer_field("target tokenizer folder, or .tiktoken file")


def run(inputs: Inputs, job: IntersectionJob, machine: Nothing, out: Path) -> None:
    """Write the intersection's folder."""
    from revocab.vocabulary.intersection import intersect_folders

    intersect_folders(inputs.source, inputs.target, job, out)


COMMAND = Command(run, job=IntersectionJob, inputs=Inputs)
