"""Make every table of an experiment, as CSV, Markdown and LaTeX."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Job
from revocab.command import Command, Nothing
from revocab.report.inputs import ResultsFolder
from revocab.rule import Plan, Rule, Step


def run(inputs: ResultsFolder, job: Job, machine: Nothing, out: Path) -> None:
    from revocab.report.make_tables import make_tables

    make_tables(inputs.results, out, inputs.experiment)


COMMAND = Command(run, finds=("report/tables", "initialise/methods", "evaluation/generation/kinds"))


def planned(plan: Plan) -> Step:
    out = f"{plan.paths.results}/tables"
    return Step(out, inputs=plan.results("scores.parquet"), also=plan.read_by_tables)


RULE = Rule(COMMAND, planned)
