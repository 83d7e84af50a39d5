"""Runs of a file that is not validated yet: some keys of one stand for several, written out here.

What has the wrong shape is left as it is, for the schema to report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from pydantic import ValidationError

from revocab.closed import problems_of
from revocab.config.schema.runs import Several
from revocab.errors import RevocabError
from revocab.limits import RUNS

#: From a run to those that stand in its place, by name, and what is wrong with it.
WrittenOut = Callable[["RawRun"], tuple[dict[str, Any], list[str]]]


@dataclass(frozen=True)
class RawRun:
    """A run as its file has it, and its group."""

    group_id: str
    group: dict[str, Any]
    name: str
    entry: dict[str, Any]

    @property
    def key(self) -> str:
        """Where the file says it."""
        return f"runs.{self.group_id}.methods.{self.name}"

    def setting(self, key: str) -> Any:
        """Return what the run says under ``key``, null included, else what its group says."""
        return (self.entry if key in self.entry else self.group).get(key)

    def place(self, key: str) -> str:
        """Return where the file says what :meth:`setting` returns, without the key itself."""
        return self.key if key in self.entry else f"runs.{self.group_id}"

    def several(self, key: str) -> tuple[Any, list[str]]:
        """Return a key of :class:`Several`, and the problems of its shape."""
        try:
            return getattr(Several.model_validate({key: self.setting(key)}), key), []
        except ValidationError as error:
            return None, list(problems_of(error, Several, self.place(key)))

    @property
    def number(self) -> int:
        """Return how many runs it stands for."""
        sweep, seeds = (self.several(key)[0] for key in ("sweep", "seeds"))
        values = [len(axis.values) for axis in sweep.axes.values()] if sweep else []
        return prod(values) * len(seeds or [None])

    def without(self, key: str) -> dict[str, Any]:
        """Return what the run says but for one key."""
        return {name: value for name, value in self.entry.items() if name != key}


def raw_runs(values: dict[str, Any]) -> list[RawRun]:
    """Return every run of a file that has the shape of one."""
    return [
        RawRun(group_id, group, name, entry)
        for group_id, group in _mapping(values, "runs").items()
        for name, entry in _mapping(group, "methods").items()
        if isinstance(entry, dict)
    ]


def check_number(values: dict[str, Any]) -> None:
    """Raise :class:`RevocabError` if sweeps and seeds give more runs than are planned."""
    numbers = {run.key: run.number for run in raw_runs(values)}
    total = sum(numbers.values())
    if total > RUNS:
        largest = max(numbers, key=lambda key: numbers[key])
        raise RevocabError(
            f"{largest}: sweeps and seeds give {numbers[largest]:,} runs here, and {total:,} in"
            f" all; give at most {RUNS:,} in an experiment"
        )


def write_out(
    values: dict[str, Any], key: str, write: WrittenOut
) -> tuple[dict[str, Any], list[str]]:
    """Return an experiment's values with ``key`` of its groups and runs written out, and problems.

    Each run is replaced by what ``write`` gives of it, in its place. A problem is also a name that
    two runs of a group would have.
    """
    problems: list[str] = []
    runs = dict(_mapping(values, "runs"))
    for run in raw_runs(values):
        group = runs[run.group_id]
        if group is run.group:  # the first of its group
            group = {name: one for name, one in group.items() if name != key} | {"methods": {}}
            runs[run.group_id] = group
            rest = {n: one for n, one in run.group["methods"].items() if not isinstance(one, dict)}
            group["methods"] |= rest
        found, wrong = write(run)
        problems += wrong
        taken = {*group["methods"], *run.group["methods"]} - {run.name}
        problems += [
            f"{run.place(key)}.{key}: two runs of group {run.group_id!r} would be called {name!r}; "
            "rename one of them, or a value"
            for name in found
            if name in taken
        ]
        group["methods"] |= found
    return ({**values, "runs": runs} if runs else values), list(dict.fromkeys(problems))


def _mapping(values: Any, key: str) -> dict[str, Any]:
    """Return the mapping under a key, empty if there is none."""
    found = values.get(key) if isinstance(values, dict) else None
    return found if isinstance(found, dict) else {}
