"""A kind of fault, and how kinds look at a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from pathlib import Path

from revocab.errors import RevocabError
from revocab.model_check.subject import Subject
from revocab.models.finding import Finding
from revocab.registry import found_in

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Kind:
    """Functions that look at one side of a folder.

    Where one needs what cannot be read, its :class:`RevocabError` is a finding, and the others
    go on.
    """

    name: str
    checks: tuple[Callable[[Subject], Iterable[Finding]], ...]
    #: Takes no longer than loading a tokenizer: ``init``, ``change`` and ``train`` run it as well.
    quick: bool = False


@cache
def kinds() -> dict[str, Kind]:
    from revocab.model_check import kinds as package

    return found_in(package, "KIND")


def look_at(folder: Path, only: Iterable[Kind] | None = None) -> list[Finding]:
    """Return what is wrong with a model folder, errors first, by all kinds or those of ``only``."""
    subject = Subject(folder)
    findings: dict[str, Finding] = {}
    for kind in kinds().values() if only is None else only:
        for check in kind.checks:
            try:
                fresh = list(check(subject))
            except RevocabError as error:
                fresh = [*map(partial(unreadable, folder), error.problems)]
            for finding in fresh:
                known = findings.setdefault(finding.what, finding)
                if known.fix is None and finding.fix is not None:
                    findings[finding.what] = finding
    alone = [finding for finding in findings.values() if finding.code == "adapter"]
    ranked = sorted(alone or findings.values(), key=attrgetter("code", "what"))
    return sorted(ranked, key=lambda finding: SEVERITIES.index(finding.severity))


def tell(folder: Path, known: AbstractSet[str] = frozenset()) -> set[str]:
    """Print a warning for each error and warning of the quick kinds; return what was found.

    What is ``known`` is not said again. What cannot be read is left to the command, which refuses
    it.
    """
    try:
        findings = look_at(folder, [kind for kind in kinds().values() if kind.quick])
    except RevocabError:
        return set()
    problems = [item for item in findings if item.severity != "note" and item.code != "unreadable"]
    for finding in problems:
        if finding.what not in known:
            print(f"warning: {finding.line(folder)}", file=sys.stderr)
    return {finding.what for finding in problems}


def unreadable(
    folder: Path, problem: str, fix: Callable[[object], object] | None = None
) -> Finding:
    """Return the finding that a refusal is: a line of a :class:`RevocabError`."""
    what, _, mend = problem.removeprefix(f"{folder}: ").removeprefix(f"{folder}/").partition("; ")
    effect = "nothing can be loaded or computed with it"
    return Finding("unreadable", "error", what, effect, mend or "fetch it again", fix)
