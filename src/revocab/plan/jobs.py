"""Every job that an experiment's report depends on, found without Snakemake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import signature
from itertools import product
from pathlib import PurePath

from revocab.config.reads import READ
from revocab.errors import RevocabError
from revocab.plan.evaluation import BY_ITEM
from revocab.plan.kept import lasting_jobs
from revocab.plan.plan import Plan, steps
from revocab.plan.step import Step

#: Rules of the target ``all``.
TARGETS = ("build_report", "check_artefacts")


class NamedJob:
    """A job, its name (``RULE--ID--ID``) and the files that others read of it."""

    def __init__(self, name: str, step: Step):
        self.name = name
        self.step = step
        self.files: set[str] = set()

    @property
    def rule(self) -> str:
        """Return the job's rule."""
        return self.name.partition("--")[0]


def needed_jobs(plan: Plan) -> dict[str, NamedJob]:
    """Return the jobs by name; an argument that is written to a file is no job of its own."""
    known = {place: one for one in _possible(plan) for place in _places(one)}
    waiting, found = [], {}
    for rule in TARGETS:
        job = known[plan.step(rule).out]  # both write one file
        job.files.add(job.step.out)
        waiting.append(job)
    while waiting:
        job = waiting.pop()
        if job.name in found:
            continue
        found[job.name] = job
        for file in (file for files in job.step.files().values() for file in files):
            maker = _maker(file, known)
            if maker is not None and maker is not job:
                maker.files.add(file)
                waiting.append(maker)
    return found


def _places(job: NamedJob) -> list[str]:
    """Return what a job writes: its file or folder, and what it writes beside that."""
    out = PurePath(job.step.out)
    if job.rule == "fetch_model":
        return [str(out.parent)]  # the manifest lies beside the snapshot
    return [str(out), *([f"{out.with_suffix('')}{BY_ITEM}"] if out.suffix == ".csv" else [])]


def _maker(file: str, known: Mapping[str, NamedJob]) -> NamedJob | None:
    """Return the job that writes a file: the one whose output is it or the nearest around it."""
    path = PurePath(file)
    return next((known[str(one)] for one in (path, *path.parents) if str(one) in known), None)


def _possible(plan: Plan) -> Iterator[NamedJob]:
    """Yield jobs that there may be, each with an output of its own, needed or not."""
    lasting = [(job.rule, job.wildcards) for job in lasting_jobs(plan)]
    known = {rule for rule, _ in lasting}
    experiment = plan.experiment
    ids = {
        "run": list(plan.runs),
        "group": list(experiment.runs),
        "task": [
            *experiment.evaluation.multiple_choice.tasks,
            *experiment.evaluation.generation.tasks,
        ],
        "part": list(READ),
    }
    for rule, function in steps().items():
        names = list(signature(function).parameters)[1:]
        if rule not in known and {*names} <= ids.keys():
            lasting += [
                (rule, dict(zip(names, values, strict=True)))
                for values in product(*(ids[name] for name in names))
            ]
    # The reference tokenizer of a held-out loss counts the windows of a length that trainings have.
    lengths = {wildcards["length"] for rule, wildcards in lasting if rule == "pack_heldout"}
    lasting += [
        ("pack_heldout", {"tokenizer": tokenizer, "length": length})
        for tokenizer, length in product(experiment.tokenizers, sorted(lengths))
    ]
    for rule, wildcards in lasting:
        try:
            step = plan.step(rule, **wildcards)
        except (RevocabError, LookupError, AttributeError, TypeError, ValueError, AssertionError):
            continue  # this rule is not for this id
        yield NamedJob("--".join([rule, *wildcards.values()]), step)
