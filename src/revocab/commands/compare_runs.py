"""Compare the runs of a group item by item: differences, intervals, p-values."""

from __future__ import annotations

from pathlib import Path

from revocab.command import Command, Nothing
from revocab.evaluation.options import ComparisonJob
from revocab.report.inputs import ResultsFolder


def run(inputs: ResultsFolder, job: ComparisonJob, machine: Nothing, out: Path) -> None:
    from revocab.report.results.significance import compare_runs

    compare_runs(inputs.results, job, out, inputs.experiment)


COMMAND = Command(
    run, out="CSV file to write", writes="file", finds=("evaluation/generation/kinds",)
)
