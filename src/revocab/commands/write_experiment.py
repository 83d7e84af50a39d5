"""Write an experiment and its runs as one file: what the report reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Job
from revocab.command import Command, Nothing


class ExperimentJob(Job):
    """An experiment with every default, and its runs."""

    experiment: dict[str, Any]
    runs: list[dict[str, Any]] = Field(default_factory=list)


def run(inputs: Nothing, job: ExperimentJob, machine: Nothing, out: Path) -> None:
    """Write the file."""
    from revocab.io import write_json
    from revocab.output import check_files

    check_files(out)
    write_json(out, job.model_dump())


COMMAND = Command(run, job=ExperimentJob, out="JSON file to write", writes="file")
