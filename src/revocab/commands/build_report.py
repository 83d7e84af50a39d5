"""Build the HTML report of an experiment: tables, figures, and what they are based on."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Job
from revocab.command import Command, Nothing
from revocab.report.inputs import ResultsAndResources


def run(inputs: ResultsAndResources, job: Job, machine: Nothing, out: Path) -> None:
    from revocab.report.page import build_report

    build_report(inputs.results, out, inputs.experiment, inputs.resources)


COMMAND = Command(
    run,
    out="report.html to write",
    writes="file",
    finds=(
        "report/tables",
        "report/figures",
        "report/claims",
        "initialise/methods",
        "evaluation/generation/kinds",
    ),
)
