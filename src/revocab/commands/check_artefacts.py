"""Check every table, figure and score of an experiment; list all problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from revocab.closed import Job
from revocab.command import Command, Nothing
from revocab.commands import drop_checkpoints
from revocab.marker import DROPPED, ORIGIN, Marked, marker_of
from revocab.report.inputs import ResultsAndResources
from revocab.rule import Plan, Rule, Step

if TYPE_CHECKING:
    from revocab import plan
    from revocab.report.results import Results

#: What is made of the results, and of this check.
REPORT = "build_report"


def run(inputs: ResultsAndResources, job: Job, machine: Nothing, out: Path) -> None:
    from revocab.report.checks import check_artefacts

    check_artefacts(inputs.results, out, inputs.experiment, inputs.resources, changed_files)


def changed_files(results: Results) -> Iterator[str]:
    """Yield what is no longer as its job wrote it; nothing for results that lie elsewhere now.

    The report and what this check has written are looked at where they are there, and not in a job
    of the workflow, which makes both anew.
    """
    from revocab import plan

    planned = plan.Plan(results.experiment)
    if Path(planned.paths.results).resolve() != results.root.resolve():
        return
    jobs = planned.needed_jobs()
    for name in (RULE.name, REPORT):
        if ORIGIN.get().name or not Path(jobs[name].step.out).is_file():
            del jobs[name]
    yield from problems([job.step for job in jobs.values()])


def problems(steps: Iterable[plan.Step]) -> Iterator[str]:
    """Yield a problem for each job without a marker, whose files are not what it wrote, that is
    not the one of the experiment, or that read what its maker has not written.
    """
    from revocab.plan.rerun import is_of

    found = []
    for step in steps:
        out, marker = Path(step.out), marker_of(Path(step.out))
        if marker is None or not marker.finished:
            rule = step.name.partition("--")[0]
            yield f"{out}: no marker says what wrote it; run the experiment with --forcerun {rule}"
        else:
            folder = out if out.is_dir() else out.parent
            found.append((step, Marked(folder, marker, [*marker.files])))
    makers = {
        file: (digest, marked) for _, marked in found for file, digest in marked.hashes().items()
    }
    for step, marked in found:
        if problem := marked.problem(read=False):
            yield problem
        if not is_of(marked.marker, step):
            yield f"{step.out}: was not written by the job {step.name}; {marked.advice}"
        for file, digest in marked.marker.inputs.items():
            if makers.get(file, (digest,))[0] != digest:
                yield (
                    f"{file}: the job {marked.job} read another content than"
                    f" {makers[file][1].job} has written: {marked.advice}"
                )


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
