"""Compare the runs of a group item by item: differences, intervals, p-values."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Id, Job, Step
from revocab.command import Command, Nothing
from revocab.evaluation.options import SignificanceOptions
from revocab.report.inputs import ResultsFolder


class ComparisonJob(SignificanceOptions, Job):
    """Which runs are compared when."""

    group: Id
    steps: list[Step] = Field(min_length=1, description="first, last or a number")
    seed: int = 17


def run(inputs: ResultsFolder, job: ComparisonJob, machine: Nothing, out: Path) -> None:
    """Write the table of comparisons."""
    from revocab.report.significance import compare_runs

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
