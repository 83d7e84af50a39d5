"""What Snakemake plans after a change, in this process: a finished experiment without the work.

Outputs are empty files. What Snakemake records of a job is recorded by Snakemake itself, so that a
plan compares exactly what it compares after a real run.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import snakemake.api
import snakemake.workflow
from snakemake.settings.types import (
    ConfigSettings,
    DAGSettings,
    ExecutionSettings,
    OutputSettings,
    Quietness,
    ResourceSettings,
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


def job_name(job: Any) -> str:
    """Return ``rule`` or ``rule:wildcard--wildcard``."""
    wildcards = "--".join(job.wildcards_dict.values())
    return f"{job.rule.name}:{wildcards}" if wildcards else job.rule.name


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


class Plan:
    """The planned jobs of an experiment, and which jobs use the results of which."""

    def __init__(self, dag: Any):
        self.jobs = {job_name(job): job for job in dag.jobs if job.rule.name != "all"}
        self.needed = {job_name(job) for job in dag.needrun_jobs()} - {"all"}
        self.users = {
            job_name(job): {job_name(user) for user in dag.depending[job]} - {"all"}
            for job in dag.jobs
        }

    def rules(self) -> set[str]:
        """Return the rules of the planned jobs."""
        return {name.partition(":")[0] for name in self.needed}

    def fed(self, patterns: Iterable[str]) -> set[str]:
        """Return the jobs of these rules or names (with ``*``), and all that use their results."""
        waiting = []
        for pattern in patterns:
            names = [pattern, f"{pattern}:*"]
            found = [job for job in self.jobs if any(fnmatchcase(job, name) for name in names)]
            assert found, f"no job {pattern} among {sorted(self.jobs)}"
            waiting += found
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += self.users[name]
        return seen


class Finished:
    """An experiment in ``folder`` whose jobs are all done, as far as Snakemake can tell."""

    def __init__(self, repository: Path, folder: Path, values: dict[str, Any]):
        self.repository, self.folder, self.values = repository, folder, values
        self.parsed = Parsed()
        # Code is an input too: empty files that import nothing keep plans small.
        scripts = [f"scripts/{path.name}" for path in (repository / "scripts").glob("*.py")]
        for name in (*scripts, "src/revocab/report/templates/report.html.j2"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        self._with_dag(values, {}, self._finish)

    def plan(self, changes: dict[str, Any] | None = None, **resources: Any) -> Plan:
        """Return what is planned after ``changes`` (see :func:`changed`) of the experiment.

        ``resources`` are settings of the machine, as profiles give them.
        """
        values = changed(self.values, changes or {})
        return self._with_dag(values, resources, lambda workflow: Plan(workflow.dag))

    def _with_dag(self, values: dict, resources: dict, use: Callable[[Any], Any]) -> Any:
        here, parse = Path.cwd(), snakemake.workflow.parse
        snakemake.workflow.parse = self.parsed
        output = OutputSettings(quiet={Quietness.ALL}, dryrun=True)
        try:
            with snakemake.api.SnakemakeApi(output) as api:
                workflow_api = api.workflow(
                    resource_settings=ResourceSettings(**{"cores": 2, **resources}),
                    config_settings=ConfigSettings(config=copy.deepcopy(values)),
                    snakefile=self.repository / "Snakefile",
                    workdir=self.folder,
                )
                workflow_api.dag(DAGSettings())
                workflow = workflow_api._workflow
                workflow.execution_settings = ExecutionSettings(lock=False)
                workflow._prepare_dag(forceall=False, ignore_incomplete=True, lock_warn_only=True)
                workflow._build_dag()
                return use(workflow)
        finally:
            snakemake.workflow.parse = parse
            os.chdir(here)

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
