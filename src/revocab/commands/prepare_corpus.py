"""Prepare a corpus from files or the Hub: deduplicate documents and hold some of them out."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.corpora.prepare import CorpusJob


class Inputs(Closed):
    """The files behind the source, none for the Hub."""

    files: list[Path] = Field(
        default_factory=list,
        description=".jsonl, .txt or .tsv (also .gz, .zst), .parquet, or a folder of such files",
    )


def run(inputs: Inputs, job: CorpusJob, machine: Nothing, out: Path) -> None:
    """Write the corpus folder."""
    from revocab.corpora.prepare import prepare

    prepare(inputs.files, job, out)


COMMAND = Command(run, job=CorpusJob, inputs=Inputs)
