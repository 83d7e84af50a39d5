"""Write an experiment and its runs as one file, which the report reads."""

from __future__ import annotations

from pathlib import Path

from revocab.command import Command, Nothing
from revocab.report.inputs import ExperimentJob


def run(inputs: Nothing, job: ExperimentJob, machine: Nothing, out: Path) -> None:
    from revocab.io import write_json
    from revocab.output import check_files

    check_files(out)
    write_json(out, job.model_dump())


COMMAND = Command(run, out="JSON file to write", writes="file", finds=("initialise/methods",))
