"""Compare the runs of a group item by item: differences, intervals, p-values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from revocab.command import Command, Nothing
from revocab.evaluation.options import ComparisonJob
from revocab.marker import BY_ITEM
from revocab.report.inputs import ResultsFolder
from revocab.rule import Plan, Rule, Step

if TYPE_CHECKING:
    from revocab.closed import Step as StepName
    from revocab.plan import Plan


def run(inputs: ResultsFolder, job: ComparisonJob, machine: Nothing, out: Path) -> None:
    from revocab.report.results.significance import compare_runs

    compare_runs(inputs.results, job, out, inputs.experiment)


COMMAND = Command(
    run, out="CSV file to write", writes="file", finds=("evaluation/generation/kinds",)
)


def planned(plan: Plan, group: str) -> Step:
    steps = {step for name, step in compared(plan) if name == group}
    section, seed = plan.experiment.evaluation.significance, plan.experiment.seed
    job = ComparisonJob.of(section, group=group, steps=sorted(steps, key=str), seed=seed)
    items = [file for run in plan.evaluated(group) for file in plan.scored_files(run, BY_ITEM)]
    return Step(plan.paths.significance(group), job, plan.results("scores.parquet"), items)


def compared(plan: Plan) -> list[tuple[str, StepName]]:
    tables = plan.experiment.tables.values()
    return [pair for table in tables for pair in table.compared()]


RULE = Rule(COMMAND, planned, lambda plan: [group for group, _ in compared(plan)])
