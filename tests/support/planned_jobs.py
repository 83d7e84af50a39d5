"""The jobs of an experiment: all that its file allows."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.plan import Plan
from revocab.plan.plan import rules


def possible_jobs(plan: Plan) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every rule with the wildcards of its jobs, whether anything reads them or not."""
    for job in plan.jobs.values():
        yield job.rule, dict(zip(rules()[job.rule].wildcards, job.ids, strict=True))
