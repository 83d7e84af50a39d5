"""Check every table, figure and score of an experiment; list all problems."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Job
from revocab.command import Command, Nothing
from revocab.report.inputs import ResultsAndResources
from revocab.rule import Plan, Rule, Step


def run(inputs: ResultsAndResources, job: Job, machine: Nothing, out: Path) -> None:
    from revocab.report.checks import check_artefacts

    check_artefacts(inputs.results, out, inputs.experiment, inputs.resources)


COMMAND = Command(
    run,
    inputs=ResultsAndResources,
    out="checks.json to write",
    writes="file",
    finds=("report/tables", "evaluation/generation/kinds"),
)


def planned(plan: Plan) -> Step:
    also = [*plan.tables, *plan.figures, *plan.baselines]
    out = f"{plan.paths.results}/checks.json"
    return Step(out, inputs=plan.results("scores.parquet"), also=also)


RULE = Rule(COMMAND, planned)
