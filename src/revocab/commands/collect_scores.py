"""Collect every score of an experiment, ours and the published ones, in one table."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Job
from revocab.command import Command, Nothing
from revocab.report.inputs import ResultsFolder


class ScoresJob(Job):
    """Which metrics stand for which families."""

    metric: dict[str, str] = Field(
        default_factory=dict,
        description="FAMILY=METRIC, acc or acc_norm, in place of the usual one",
    )


def run(inputs: ResultsFolder, job: ScoresJob, machine: Nothing, out: Path) -> None:
    """Write scores.parquet and scores.csv."""
    from revocab.report.scores import collect_scores

    collect_scores(inputs.results, out, inputs.experiment, job.metric)


COMMAND = Command(
    run, job=ScoresJob, inputs=ResultsFolder, out="scores.parquet to write", writes="file"
)
