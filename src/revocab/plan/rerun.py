"""What runs a job again beside its inputs: its arguments, its code, another job's folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from revocab.imports import code_hash
from revocab.marker import Marker, read_marker
from revocab.plan.plan import Plan, rules
from revocab.rule import Step

#: How the param of a rule's code begins, among those that Snakemake has recorded.
CODE = "code "
#: Ends the param, or no longer, where an output is to be made again though its code is as it was.
AGAIN = " again"


def arguments_digest(plan: Plan, name: str) -> str:
    """Return the param that stands for a job's arguments: short, since Snakemake prints changes."""
    text = "\n".join(plan.job(name).arguments())
    return f"job {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def is_of(marker: Marker, step: Step) -> bool:
    """Return whether a marker is of a job, or does not say of which.

    An option that is younger than the marker counts as its default.
    """
    if not marker.command:
        return True
    try:
        options = type(step.job).model_validate(marker.job)
    except ValidationError:
        return False
    return marker.command == step.command and options.canonical() == step.job.canonical()


@dataclass
class CodeParams:
    """The params that stand for the code of rules.

    ``keeps``: what lasts (:class:`revocab.rule.Rule`) stays when code alone has changed.
    """

    plan: Plan
    keeps: bool
    #: Outputs of other code that are kept.
    kept: set[str] = field(default_factory=set)

    def param(self, name: str, output: Path, last: Sequence[str]) -> str:
        """Return the param of a job's code, by what Snakemake has recorded of its output.

        It is the recorded one where nothing is to be made again, and another one else: where code
        has changed, or where another job than this one has written the folder since.
        """
        rule = rules()[name.partition("--")[0]]
        now = CODE + code_hash(f"commands/{rule.command.name}.py", rule.command.finds)
        known = next((text.strip("'") for text in last if text.startswith(f"'{CODE}")), None)
        if known is None or not output.exists():
            return now
        step = self.plan.job(name)
        marker = read_marker(Path(step.out)) if rule.command.writes == "folder" else None
        if marker is not None and not is_of(marker, step):
            return now if known != now else now + AGAIN
        if known.removesuffix(AGAIN) == now:
            return known
        if self.keeps and rule.lasting:
            self.kept.add(name)
            return known
        return now

    def report(self) -> str:
        """Return what is kept though its code has changed; nothing where that is nothing."""
        if not self.kept:
            return ""
        names = ", ".join(name.replace("--", " ", 1) for name in sorted(self.kept))
        return f"made by older code and kept (snakemake --forcerun makes them again): {names}"
