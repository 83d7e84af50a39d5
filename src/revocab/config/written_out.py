"""Runs written out: from ``sweep:`` and ``seeds:`` to ordinary runs, before a file is validated.

What has the wrong shape is left as it is, for the schema to report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from pydantic import ValidationError

from revocab.closed import problems_of
from revocab.config.lineage import PARENTS, run_id
from revocab.config.schema.runs import Several, Sweep
from revocab.errors import RevocabError
from revocab.limits import RUNS

#: The keys by which a run stands for several.
SEVERAL = ("sweep", "seeds")
#: The name or id of a run of one seed, and the key of such a run.
OF_A_SEED = re.compile(r"[\w.-]+-seed\d+(?![\w-])")
KNOWN = re.compile(r"(?<=\(known: )[^)]*")


@dataclass(frozen=True)
class RawRun:
    """A run of a file that is not validated yet, and its group."""

    group_id: str
    group: dict[str, Any]
    name: str
    #: What it says itself, without its sweep and seeds.
    entry: dict[str, Any]
    #: Where the file says it: of a run of a sweep, where the sweep is.
    key: str
    #: Where the file says what makes it several, by ``sweep`` and ``seeds``.
    places: dict[str, str]
    sweep: Sweep | None = None
    seeds: list[int] | None = None

    def setting(self, key: str) -> Any:
        """Return what the run says under ``key``, null included, else what its group says."""
        return (self.entry if key in self.entry else self.group).get(key)

    @property
    def number(self) -> int:
        axes = self.sweep.axes.values() if self.sweep else ()
        return prod(len(axis.values) for axis in axes) * len(self.seeds or [None])


def with_all_runs(values: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return an experiment's values with a run for each value of a sweep and each seed, and the
    problems of both.

    Raises :class:`RevocabError` if these are more runs than are planned.
    """
    from revocab.config.sweeps import SweptRecipes  # stands on the runs here

    runs, problems = raw_runs(values)
    if not runs:
        return values, problems
    total, largest = sum(run.number for run in runs), max(runs, key=lambda run: run.number)
    if total > RUNS:
        raise RevocabError(
            f"{largest.key}: sweeps and seeds give {largest.number:,} runs here, and {total:,} in"
            f" all; give at most {RUNS:,} in an experiment"
        )
    recipes = SweptRecipes(values, problems)
    swept = [swept_run for run in runs for swept_run in recipes.runs_of(run)]
    seeds = {run_id(run.group_id, run.name): run.seeds or [] for run in swept}
    written = [replicate for run in swept for replicate in replicates(run, seeds, problems)]
    problems += clashes(written)
    groups = dict(values["runs"])
    for group_id in dict.fromkeys(run.group_id for run in runs):
        group = {key: value for key, value in groups[group_id].items() if key not in SEVERAL}
        misfits = {k: v for k, v in group["methods"].items() if not isinstance(v, dict)}
        entries = {run.name: run.entry for run in written if run.group_id == group_id}
        groups[group_id] = {**group, "methods": {**misfits, **entries}}
    made = {"recipes": recipes.recipes} if recipes.recipes else {}
    return {**values, **made, "runs": groups}, list(dict.fromkeys(problems))


def raw_runs(values: dict[str, Any]) -> tuple[list[RawRun], list[str]]:
    """Return every run of a file that has the shape of one, and what is wrong with sweeps and
    seeds.
    """
    runs: list[RawRun] = []
    problems: list[str] = []
    for group_id, group in mapping(values, "runs").items():
        for name, entry in mapping(group, "methods").items():
            if not isinstance(entry, dict):
                continue
            key, several = f"runs.{group_id}.methods.{name}", {}
            places = {what: key if what in entry else f"runs.{group_id}" for what in SEVERAL}
            for what, place in places.items():
                stated = (entry if what in entry else group).get(what)
                try:
                    several[what] = getattr(Several.model_validate({what: stated}), what)
                except ValidationError as error:
                    problems += problems_of(error, Several, place)
            own = {option: value for option, value in entry.items() if option not in SEVERAL}
            runs.append(RawRun(group_id, group, name, own, key, places, **several))
    return runs, problems


def mapping(values: Any, key: str) -> dict[str, Any]:
    inner = values.get(key) if isinstance(values, dict) else None
    return inner if isinstance(inner, dict) else {}


def replicates(run: RawRun, seeds: dict[str, list[int]], problems: list[str]) -> Iterator[RawRun]:
    """Yield a run for each of its seeds, itself where it has one; add what is wrong to problems.

    A run that begins from one with the same seed, or reads it, names it without its seed: ``seeds``
    are those of all runs.
    """
    if run.seeds is None:
        yield run
        return
    if "seed" in run.entry:
        problems.append(
            f"{run.key}.seed: given, and so is {run.places['seeds']}.seeds; remove one of them, "
            "or say 'seeds: null' here"
        )
    for seed in run.seeds:
        entry = {"method": run.name, **run.entry, "seed": seed, "replicate_of": run.name}
        for key in PARENTS:
            named = entry.get(key)
            parent = str(named.get("run")) if isinstance(named, dict) else ""
            if seed in seeds.get(parent, ()):
                entry[key] = {**entry[key], "run": replicate_name(parent, seed)}
        yield replace(run, name=replicate_name(run.name, seed), entry=entry)


def replicate_name(name: str, seed: int) -> str:
    return f"{name}-seed{seed}"


def clashes(runs: list[RawRun]) -> Iterator[str]:
    names = Counter((run.group_id, run.name) for run in runs)
    for run in runs:
        several = "seeds" if run.seeds else "sweep"
        if names[run.group_id, run.name] > 1 and (run.seeds or run.sweep):
            yield (
                f"{run.places[several]}.{several}: two runs of group {run.group_id!r} would be"
                f" called {run.name!r}; rename one of them, or a value"
            )


def named_as_in_file(
    problems: Iterable[str], values: dict[str, Any], written: dict[str, Any]
) -> list[str]:
    """Return the problems of ``written``, each once; runs of several seeds are called as ``values``
    call them.
    """
    names = dict(names_of_seeds(values, written))

    def renamed(problem: str) -> str:
        first = OF_A_SEED.match(problem)
        if first is None or first[0] not in names:
            return problem
        message = OF_A_SEED.sub(lambda name: names.get(name[0], name[0]), problem)
        # Lists of what is known would say each name once for each seed.
        return KNOWN.sub(lambda known: ", ".join(dict.fromkeys(known[0].split(", "))), message)

    return list(dict.fromkeys(map(renamed, problems)))


def names_of_seeds(values: dict[str, Any], written: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield key, id and name of every run of one seed that the file does not name, with those of
    the run that it does.
    """
    for group_id, group in mapping(written, "runs").items():
        own = mapping(mapping(mapping(values, "runs"), group_id), "methods")
        for name, entry in mapping(group, "methods").items():
            parent = mapping({name: entry}, name).get("replicate_of")
            if parent and name not in own:
                methods = f"runs.{group_id}.methods."
                yield from ((methods + name, methods + parent), (name, parent))
                yield run_id(group_id, name), run_id(group_id, parent)
