"""Write an experiment and its runs as one file, which the report reads."""

from __future__ import annotations

from pathlib import Path

from revocab.command import Command, Nothing
from revocab.config.expand import as_json
from revocab.report.inputs import ExperimentJob
from revocab.rule import Plan, Rule, Step


def run(inputs: Nothing, job: ExperimentJob, machine: Nothing, out: Path) -> None:
    from revocab.io import write_json
    from revocab.output import check_files

    check_files(out)
    write_json(out, job.model_dump())


COMMAND = Command(run, out="JSON file to write", writes="file", finds=("initialise/methods",))


def planned(plan: Plan) -> Step:
    return Step(plan.paths.experiment_file, ExperimentJob(**as_json(plan.experiment)))


RULE = Rule(COMMAND, planned)
