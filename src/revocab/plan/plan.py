"""The plan of one experiment: its jobs, which the rules of the workflow run."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from itertools import chain
from pathlib import Path, PurePath
from pkgutil import iter_modules
from typing import Any

from revocab.closed import look_up
from revocab.config import read
from revocab.config.layout import MANIFEST
from revocab.config.schema import Experiment
from revocab.errors import RevocabError
from revocab.flags import Parser
from revocab.marker import BY_ITEM, Marked
from revocab.plan.artefacts import Artefacts
from revocab.rule import JOIN, Rule, Step, job_script

#: Of a folder that is read by way of its manifest: what tables and figures are made of.
TABLES = (".csv", ".jsonl", "timing.json")
#: Rules of the target ``all``.
TARGETS = ("build_report", "check_artefacts")


@cache
def rules() -> dict[str, Rule]:
    from revocab import commands

    modules = [
        import_module(f"{commands.__name__}.{file.name}")
        for file in iter_modules(commands.__path__)
    ]
    return {module.RULE.name: module.RULE for module in modules if hasattr(module, "RULE")}


def find_rule(name: str) -> Rule:
    return look_up("rule", name, rules(), "rule")


@dataclass(frozen=True)
class NamedJob:
    """A job of an experiment: its name (``RULE--ID--ID``) and the files that others read of it."""

    rule: str
    ids: tuple[str, ...]
    step: Step
    files: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return JOIN.join([self.rule, *self.ids])

    def writes(self) -> list[str]:
        out = PurePath(self.step.out)
        if self.rule == "fetch_model":
            return [str(out.parent)]  # the manifest lies beside the snapshot
        return [str(out), *([f"{out.with_suffix('')}{BY_ITEM}"] if out.suffix == ".csv" else [])]


def files_of_results(inputs: Any, name: str) -> Iterator[Path]:
    """Yield the files that a job, or any of a rule, reads of finished results.

    ``inputs`` are those of the command. Nothing where the results lie elsewhere now.
    """
    from revocab.report.results import Results

    results = Results(inputs.results, inputs.experiment)
    plan, home = Plan(results.experiment), results.root.parent.parent
    if (home / plan.paths.results).resolve() != results.root.resolve():
        return
    rule, *ids = name.split(JOIN)
    jobs = [JOIN.join([rule, *known]) for known in ([ids] if ids else find_rule(rule).known(plan))]
    if rule == "build_report":  # it shows what these read, too
        jobs += ["collect_scores", "make_tables", "make_figures"]
    read = (file for job in jobs for file in chain(*plan.job(job).files().values()))
    for path in dict.fromkeys(home / file for file in read):
        yield path
        if path.name == MANIFEST and (folder := Marked.find(path.parent)):  # stands for its tables
            tables = (name for name in folder.names if name.endswith(TABLES))
            yield from (folder.folder / name for name in tables)


def by_place(jobs: Iterable[NamedJob]) -> dict[str, NamedJob]:
    return {place: job for job in jobs for place in job.writes()}


def made_by(known: Mapping[str, NamedJob], job: NamedJob) -> Iterator[tuple[str, NamedJob]]:
    """Yield the files that a job reads with the job that makes each; not those it makes itself."""
    for file in (file for files in job.step.files().values() for file in files):
        # The job whose output is the file, or the nearest folder around it.
        place = file
        while place and place not in known:
            place = place.rpartition("/")[0]
        maker = known.get(place, job)
        if maker is not job:
            yield file, maker


class Plan(Artefacts):
    """What an experiment computes. It composes names, writes nothing and reads no result."""

    def __init__(self, experiment: Experiment):
        super().__init__(experiment)
        self._steps: dict[str, Step] = {}
        self._waits: dict[str, set[str]] = {}

    def step(self, rule: str, **wildcards: str) -> Step:
        """Return the job of a rule for its wildcards.

        Raises :class:`RevocabError` for an unknown rule.
        """
        return self.job(JOIN.join([rule, *(wildcards[name] for name in find_rule(rule).wildcards)]))

    def job(self, name: str) -> Step:
        if name not in self._steps:
            rule, *ids = name.split(JOIN)
            step = find_rule(rule).step(self, *ids)
            command = rules()[rule].command.name
            self._steps[name] = replace(step, command=command, name=name, also=tuple(step.also))
        return self._steps[name]

    def words(self, step: Step, job: str | None = None) -> list[str]:
        words = [job_script(), step.command, *step.arguments(job)]
        return [*words, "--name", step.name] if step.name else words

    @cached_property
    def jobs(self) -> dict[str, NamedJob]:
        jobs = [
            NamedJob(name, ids, self.job(JOIN.join([name, *ids])))
            for name, rule in rules().items()
            for ids in rule.known(self)
        ]
        return {job.name: job for job in jobs}

    def needed_jobs(self, targets: Sequence[str] = TARGETS) -> dict[str, NamedJob]:
        """Return some jobs and those that they depend on, by name, with the files that are read."""
        jobs = [replace(job, files=set()) for job in self.jobs.values()]
        known = by_place(jobs)
        waiting, needed = [], {}
        for rule in targets:
            job = known[self.step(rule).out]  # both write one file
            job.files.add(job.step.out)
            waiting.append(job)
        while waiting:
            job = waiting.pop()
            if job.name in needed:
                continue
            needed[job.name] = job
            for file, maker in made_by(known, job):
                maker.files.add(file)
                waiting.append(maker)
        return needed

    def waits_for(self, name: str) -> set[str]:
        if name not in self._waits:
            makers = {maker.name for _, maker in made_by(self._by_place, self.jobs[name])}
            self._waits[name] = makers.union(*map(self.waits_for, makers))
        return self._waits[name]

    @cached_property
    def _by_place(self) -> dict[str, NamedJob]:
        return by_place(self.jobs.values())

    # --- ids --------------------------------------------------------------------------------------

    def packing(self, tokenizer: str, mixture: str, recipe: str) -> tuple[str, str]:
        """Return the mixture and recipe under whose names a training's rows are packed.

        Rows are packed once for all trainings that have the same: under the first mixture of
        these, and the first recipe of the experiment that gives these rows.
        """

        def rows(mixture: str, recipe: str) -> list[str]:
            ids = {"tokenizer": tokenizer, "mixture": mixture, "recipe": recipe}
            return self.step("pack_tokens", **ids).arguments()[:-1]

        wanted = rows(mixture, recipe)
        trained = [(m, r) for other, m, r in self.trainings if other == tokenizer]
        same = {mixture, *(m for m, r in trained if rows(m, r) == wanted)}
        first = next(name for name in self.experiment.mixtures if name in same)
        return first, next(name for name in self.experiment.recipes if rows(first, name) == wanted)

    @cached_property
    def trainings(self) -> list[tuple[str, str, str]]:
        """Return tokenizer, mixture and recipe of every training: of runs, and of stand-ins."""
        runs = [
            (run.target, run.mixture, run.recipe)
            for run in self.runs.values()
            if run.mixture is not None and run.recipe is not None
        ]
        models = [
            (model.tokenizer, model.pretrain.mixture, model.pretrain.recipe)
            for model in self.experiment.models.values()
            if model.pretrain
        ]
        return list(dict.fromkeys([*runs, *models]))

    @property
    def trained(self) -> list[str]:
        return [run.id for run in self.runs.values() if run.trains]

    @property
    def stand_ins(self) -> list[str]:
        return [name for name, model in self.experiment.models.items() if model.pretrain]


def add_experiment(parser: Parser) -> None:
    default = [Path("config/demos/demo.yaml")]
    parser.add_argument(
        "--configfile", nargs="+", type=Path, default=default, metavar="FILE",
        help=f"an experiment file and its overlays (default: {default[0]})",
    )  # fmt: skip
    parser.add_argument(
        "--config", nargs="+", default=[], metavar="KEY=VALUE", help="replace keys of the file"
    )


def planned(arguments: Namespace) -> Plan:
    """Return the plan of the experiment that a command line names.

    Raises :class:`RevocabError` for an experiment that is not valid.
    """
    return Plan(read(*arguments.configfile, **pairs(arguments.config)))


def pairs(words: Sequence[str]) -> dict[str, str]:
    wrong = [word for word in words if "=" not in word]
    if wrong:
        raise RevocabError(f"{word!r}: expected NAME=VALUE" for word in wrong)
    return dict(word.split("=", 1) for word in words)
