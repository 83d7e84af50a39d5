"""Build the HTML report of an experiment: tables, figures, and what they are based on."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Job
from revocab.command import Command, Nothing
from revocab.report.inputs import ResultsAndResources
from revocab.rule import Plan, Rule, Step


def run(inputs: ResultsAndResources, job: Job, machine: Nothing, out: Path) -> None:
    from revocab.report.page import build_report

    build_report(inputs.results, out, inputs.experiment, inputs.resources)


COMMAND = Command(
    run,
    out="report.html to write",
    writes="file",
    finds=(
        "report/tables",
        "report/figures",
        "report/claims",
        "initialise/methods",
        "evaluation/generation/kinds",
    ),
)


def planned(plan: Plan) -> Step:
    paths, experiment = plan.paths, plan.experiment
    folders = [paths.intersection(*pair) for pair in plan.intersections]
    folders += [paths.fertility] if experiment.fertility.tokenizers else []
    folders += [f"{paths.results}/scale"] if experiment.scale else []
    manifests = [file for folder in folders for file in plan.folder(folder).files]
    also = [*plan.tables, *plan.figures, *manifests, *plan.baselines]
    out = f"{paths.results}/report.html"
    return Step(out, inputs=plan.results("checks.json"), also=also)


RULE = Rule(COMMAND, planned)
