"""Collect every score of an experiment, ours and the published ones, in one table."""

from __future__ import annotations

from pathlib import Path

from revocab.command import Command, Nothing
from revocab.report.inputs import ResultsFolder, ScoresJob


def run(inputs: ResultsFolder, job: ScoresJob, machine: Nothing, out: Path) -> None:
    from revocab.report.results.scores import collect_scores

    collect_scores(inputs.results, out, inputs.experiment, job.metric)


COMMAND = Command(run, out="scores.parquet to write", writes="file")
