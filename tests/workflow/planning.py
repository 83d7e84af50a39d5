"""What Snakemake plans, in this process: an experiment's jobs, or those that a change runs again.

A finished experiment is one without the work: its outputs are empty files. What Snakemake records
of a job is recorded by Snakemake itself, so that a plan compares exactly what it compares after a
real run.
"""

from __future__ import annotations

import copy
import io
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import snakemake.api
import snakemake.rules
import snakemake.settings.types
import snakemake.workflow
from snakemake.common.configfile import load_configfile
from snakemake.settings.types import (
    ConfigSettings,
    DAGSettings,
    ExecutionSettings,
    OutputSettings,
    Quietness,
    RerunTrigger,
    ResourceSettings,
)

from revocab.verb import Call, read
from revocab.verbs import find


@cache
def parsed(text: str) -> dict[str, Any]:
    return load_configfile(io.StringIO(text))


# A third of a plan: what the same functions take is looked up for every job, and files that many
# plans share are read by a parser in Python.
snakemake.rules.get_function_params = cache(snakemake.rules.get_function_params)
snakemake.settings.types.load_configfile = lambda file: copy.deepcopy(
    parsed(Path(file).read_text(encoding="utf-8"))
)


class Parsed:
    """Snakemake's parser with a memory: rule files are the same for every plan."""

    def __init__(self):
        self.parse, self.known = snakemake.workflow.parse, {}

    def __call__(self, file: Any, workflow: Any, linemap: dict[int, int], rulecount: int = 0):
        key = (file.get_path_or_uri(secret_free=True), rulecount)
        if key not in self.known:
            found = self.parse(file, workflow, rulecount=rulecount, linemap=linemap)
            self.known[key] = (found, dict(linemap))
        found, lines = self.known[key]
        linemap.update(lines)
        return found


@cache
def parser() -> Parsed:
    return Parsed()


@contextmanager
def workflow_of(
    repository: Path,
    config: ConfigSettings,
    *,
    folder: Path | None = None,
    resources: Mapping[str, Any] | None = None,
    settings: DAGSettings | None = None,
    forceall: bool = False,
) -> Iterator[Any]:
    """Yield a checkout's workflow with its DAG, as ``--dry-run`` builds it in ``folder``."""
    here, parse = Path.cwd(), snakemake.workflow.parse
    snakemake.workflow.parse = parser()
    output = OutputSettings(quiet={Quietness.ALL}, dryrun=True)
    try:
        with snakemake.api.SnakemakeApi(output) as api:
            workflow_api = api.workflow(
                resource_settings=ResourceSettings(**{"cores": 2, **(resources or {})}),
                config_settings=config,
                snakefile=repository / "Snakefile",
                workdir=folder or repository,
            )
            workflow_api.dag(settings or DAGSettings())
            workflow = workflow_api._workflow
            workflow.execution_settings = ExecutionSettings(lock=False)
            workflow._prepare_dag(forceall=forceall, ignore_incomplete=True, lock_warn_only=True)
            workflow._build_dag()
            yield workflow
    finally:
        snakemake.workflow.parse = parse
        os.chdir(here)


def config_of(repository: Path, *files: object, **keys: str) -> ConfigSettings:
    """Return what ``--configfile`` and ``--config`` give; files of the checkout, or absolute."""
    return ConfigSettings(config=keys, configfiles=[repository / str(file) for file in files])


def all_jobs(
    repository: Path, *files: object, targets: Iterable[str] = (), **keys: str
) -> Counter[str]:
    """Return how many jobs of every rule ``--forceall`` plans: what makes everything anew."""
    config, settings = config_of(repository, *files, **keys), DAGSettings(targets={*targets})
    with workflow_of(repository, config, settings=settings, forceall=True) as workflow:
        return Counter(job.rule.name for job in workflow.dag.needrun_jobs())


def job_name(job: Any) -> str:
    wildcards = "--".join(job.wildcards_dict.values())
    return f"{job.rule.name}:{wildcards}" if wildcards else job.rule.name


def words_of(job: Any) -> list[str]:
    words = shlex.split(job.shellcmd.partition(" 2> ")[0])
    return words[words.index("revocab") + 1 :]


def call_of(job: Any) -> Call:
    name, *words = words_of(job)
    if "-" in words:  # from standard input, where it may be of any length
        words[words.index("-")] = job.params.options
    return read(find(name), name, words)


def recorded(job: Any) -> tuple[Any, ...]:
    return set(job.input), set(job.output), job.params.decided


def changed(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return ``values`` with dotted keys set; a whole number in a key is a place in a list."""
    values = copy.deepcopy(values)
    for key, value in changes.items():
        *parents, last = (int(one) if one.isdigit() else one for one in key.split("."))
        place = values
        for one in parents:
            place = place.setdefault(one, {}) if isinstance(place, dict) else place[one]
        place[last] = value
    return values


def fed(users: dict[str, set[str]], patterns: Iterable[str]) -> set[str]:
    """Return the jobs of these rules or names (with ``*``), and all that use their results.

    ``users`` are, by job, the jobs that use its results.
    """
    waiting = []
    for pattern in patterns:
        names = [pattern, f"{pattern}:*"]
        found = [job for job in users if any(fnmatchcase(job, name) for name in names)]
        assert found, f"no job {pattern} among {sorted(users)}"
        waiting += found
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += users[name]
    return seen


class Plan:
    """The planned jobs of an experiment, and which jobs use the results of which."""

    def __init__(self, dag: Any):
        self.jobs = {job_name(job): job for job in dag.jobs if job.rule.name != "all"}
        #: Why each of them runs, in Snakemake's words.
        self.reasons = {job_name(job): str(dag.reason(job)) for job in dag.needrun_jobs()}
        self.needed = {job_name(job) for job in dag.needrun_jobs()} - {"all"}
        self.users = {
            job_name(job): {job_name(user) for user in dag.depending[job]} - {"all"}
            for job in dag.jobs
        }

    def changed_since(self, before: Plan) -> set[str]:
        known = {name: recorded(job) for name, job in before.jobs.items()}
        return {name for name, job in self.jobs.items() if recorded(job) != known.get(name)}

    def rules(self) -> set[str]:
        return {name.partition(":")[0] for name in self.needed}

    def fed(self, patterns: Iterable[str]) -> set[str]:
        """Return the jobs of these rules or names (with ``*``), and all that use their results."""
        return fed(self.users, patterns)


class Checkout:
    def __init__(self, repository: Path, folder: Path, values: dict[str, Any]):
        self.repository, self.folder, self.values = repository, folder, values

    def plan(
        self,
        changes: dict[str, Any] | None = None,
        *,
        targets: Iterable[str] = (),
        triggers: Iterable[RerunTrigger] = RerunTrigger.all(),
        **resources: Any,
    ) -> Plan:
        """Return what is planned after ``changes`` (see :func:`changed`) of the experiment.

        ``triggers`` and ``resources`` are settings of the machine, as profiles give them.
        """
        values = changed(self.values, changes or {})
        settings = DAGSettings(targets={*targets}, rerun_triggers=frozenset(triggers))
        with self.workflow(values, resources=resources, settings=settings) as workflow:
            return Plan(workflow.dag)

    def workflow(self, values: dict[str, Any], **given: Any) -> AbstractContextManager[Any]:
        config = ConfigSettings(config=copy.deepcopy(values), config_args=[])
        return workflow_of(self.repository, config, folder=self.folder, **given)


class Finished(Checkout):
    """An experiment in ``folder`` whose jobs are all done, as far as Snakemake can tell."""

    def __init__(self, repository: Path, folder: Path, values: dict[str, Any]):
        super().__init__(repository, folder, values)
        (folder / "config").symlink_to(repository / "config")
        with self.workflow(values) as workflow:
            self._finish(workflow)

    @staticmethod
    def _finish(workflow: Any) -> None:
        for level in workflow.dag.toposorted():
            for job in level:
                for file in job.output:
                    path = Path(file)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.touch()
        for job in workflow.dag.jobs:
            workflow.async_run(workflow.persistence.finished(job))
