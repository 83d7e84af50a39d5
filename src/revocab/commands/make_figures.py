"""Draw every figure of an experiment, as SVG and PNG."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Job
from revocab.command import Command, Nothing
from revocab.report.inputs import ResultsFolder


def run(inputs: ResultsFolder, job: Job, machine: Nothing, out: Path) -> None:
    from revocab.report.make_figures import make_figures

    make_figures(inputs.results, out, inputs.experiment)


COMMAND = Command(run, finds=("report/figures", "initialise/methods"))
