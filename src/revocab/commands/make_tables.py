"""Make every table of an experiment, as CSV, Markdown and LaTeX."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Job
from revocab.command import Command, Nothing
from revocab.report.inputs import ResultsFolder


def run(inputs: ResultsFolder, job: Job, machine: Nothing, out: Path) -> None:
    from revocab.report.make_tables import make_tables

    make_tables(inputs.results, out, inputs.experiment)


COMMAND = Command(run, finds=("report/tables", "initialise/methods", "evaluation/generation/kinds"))
