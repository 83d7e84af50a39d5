"""Build the HTML report of an experiment: tables, figures, and what they are based on."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Job
from revocab.command import Command, Nothing
from revocab.report.inputs import ResultsAndResources


def run(inputs: ResultsAndResources, job: Job, machine: Nothing, out: Path) -> None:
    """Write the page."""
    from revocab.report.page.html import build_report

    build_report(inputs.results, out, inputs.experiment, inputs.resources)


COMMAND = Command(run, inputs=ResultsAndResources, out="report.html to write", writes="file")
