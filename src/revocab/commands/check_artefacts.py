"""Check every table, figure and score of an experiment; list all problems."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from revocab.chain import DROPPED
from revocab.closed import Job
from revocab.command import Command, Nothing
from revocab.commands import drop_checkpoints
from revocab.report.inputs import ResultsAndResources
from revocab.rule import Plan, Rule, Step

if TYPE_CHECKING:
    from revocab.report.results import Results


def run(inputs: ResultsAndResources, job: Job, machine: Nothing, out: Path) -> None:
    from revocab.report.checks import check_artefacts

    check_artefacts(inputs.results, out, inputs.experiment, inputs.resources, changed_files)


def changed_files(results: Results) -> Iterator[str]:
    """Yield what is no longer as its job wrote it; nothing for results that lie elsewhere now."""
    from revocab import chain, plan

    planned = plan.Plan(results.experiment)
    if Path(planned.paths.results).resolve() == results.root.resolve():
        checked = planned.needed_jobs([RULE.name]).keys() - {RULE.name}
        yield from chain.problems(Path(planned.paths.records), sorted(checked))


COMMAND = Command(
    run,
    out="checks.json to write",
    writes="file",
    finds=("report/tables", "evaluation/generation/kinds"),
)


def planned(plan: Plan) -> Step:
    also = [*plan.tables, *plan.figures, *plan.baselines]
    also += [f"{plan.paths.run(run)}/{DROPPED}" for run in drop_checkpoints.ids(plan)]
    out = f"{plan.paths.results}/checks.json"
    return Step(out, inputs=plan.results("scores.parquet"), also=also)


RULE = Rule(COMMAND, planned)
