"""What a change of an experiment runs again, from the plan alone.

A job runs again where Snakemake would find its inputs or a recorded param changed; all that decides
them is in the job's step. ``test_every_key.py`` plans some of the changes with Snakemake, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from revocab.config import validate
from revocab.plan import Plan


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


@dataclass(frozen=True)
class Jobs:
    """The jobs of an experiment, by ``rule`` or ``rule:wildcard--wildcard``."""

    #: What is recorded of each: its output, its arguments, its input files.
    recorded: dict[str, Any]
    #: The jobs that use its results.
    users: dict[str, set[str]]

    @classmethod
    def of(cls, values: dict[str, Any]) -> Jobs:
        """Return those of an experiment, read in the current folder."""
        needed = Plan(validate(values)).needed_jobs()
        found = {name.replace("--", ":", 1): job for name, job in needed.items()}
        makers = {file: name for name, job in found.items() for file in job.files}
        recorded: dict[str, Any] = {}
        users: dict[str, set[str]] = {name: set() for name in found}
        for name, job in found.items():
            files = {file for files in job.step.files().values() for file in files}
            recorded[name] = (job.step.out, tuple(job.step.arguments()), files)
            for file in files & makers.keys():
                users[makers[file]].add(name)
        return cls(recorded, users)

    def run_again(self, before: Jobs) -> set[str]:
        """Return the jobs that run where ``before`` are done: what is new or changed, and users."""
        known = before.recorded
        return fed(self.users, [job for job, one in self.recorded.items() if one != known.get(job)])
