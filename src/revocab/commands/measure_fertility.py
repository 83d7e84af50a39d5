"""Measure tokenizers on corpora: tokens per word, words split, unknown and byte tokens."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Id
from revocab.command import Command, Nothing
from revocab.fertility.measure import FertilityJob
from revocab.models.hub_or_folder import tokenizer_field


class Inputs(Closed):
    """Tokenizers and text."""

    tokenizers: dict[Id, Path] = tokenizer_field("tokenizer folders, by id", min_length=1)
    corpora: dict[Id, Path] = Field(
        min_length=1, description="prepared corpora, by id; their train split is measured"
    )
    parallel_files: list[Path] = Field(
        default_factory=list, description="files with the same text in several languages"
    )


def run(inputs: Inputs, job: FertilityJob, machine: Nothing, out: Path) -> None:
    """Write the report's folder."""
    from revocab.fertility.measure import fertility_of_folders

    fertility_of_folders(inputs.tokenizers, inputs.corpora, out, job, inputs.parallel_files)


COMMAND = Command(run, job=FertilityJob, inputs=Inputs)
