"""Compare the runs of a group item by item: differences, intervals, p-values."""

from __future__ import annotations

from pathlib import Path

from revocab.command import Command, Nothing
from revocab.evaluation.options import ComparisonJob
from revocab.report.inputs import ResultsFolder


def run(inputs: ResultsFolder, job: ComparisonJob, machine: Nothing, out: Path) -> None:
    """Write the table of comparisons."""
    from revocab.report.results.significance import compare_runs

    compare_runs(
        inputs.results,
        job.group,
        job.steps,
        out,
        resamples=job.resamples,
        seed=job.seed,
        experiment=inputs.experiment,
    )


COMMAND = Command(
    run, job=ComparisonJob, inputs=ResultsFolder, out="CSV file to write", writes="file"
)
