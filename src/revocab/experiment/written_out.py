"""Runs written out: from ``for:`` to ordinary runs of a valid experiment.

A run of a sweep is called after the run and its values, ``<run>-<value>-<value>-seed<seed>``. What
these change of a recipe becomes one of its own, called after that and the values, so that runs with
equal rows name one recipe to pack them by, whatever else they change.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from pydantic import TypeAdapter, ValidationError

from revocab.closed import problems_of
from revocab.errors import RevocabError
from revocab.experiment.expand import PARENTS, run_id
from revocab.experiment.schema import Experiment
from revocab.experiment.schema.runs import RunEntry, RunGroup, RunMethod
from revocab.limits import RUNS
from revocab.training.named_recipes import changed_recipe
from revocab.training.recipe import PackingOptions, Recipe

#: The id or key of a run of one seed; and what is known, in a problem.
OF_A_SEED = re.compile(r"[a-z0-9][a-z0-9_.-]*-seed\d+(?![\w-])")
KNOWN = re.compile(r"(?<=\(known: )[^)]*")
#: Options of a recipe that decide which rows are packed.
ROWS = {*PackingOptions.model_fields, "batch_size", "steps", "tokens", "stages"}
ENTRY: TypeAdapter[RunMethod] = TypeAdapter(RunEntry)
#: Of a value: its name, what it changes of a recipe, and where the file says so.
Change = tuple[str, dict[str, Any], str]


@dataclass
class WrittenOut:
    """The runs and recipes that an experiment's sweeps stand for."""

    experiment: Experiment
    #: As the file has them, their budgets in tokens or steps.
    recipes: dict[str, Any]
    problems: list[str] = field(default_factory=list)
    #: Ids and keys of runs of one seed, with those of the run that the file names.
    as_in_file: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.recipes, groups = dict(self.recipes), self.experiment.runs
        numbers = {
            f"runs.{name}.methods.{run}": prod(map(len, sweep.axes.values()))
            * len(sweep.seed or "1")
            for name, group in groups.items()
            for run in group.methods
            if (sweep := group.setting(run, "for"))
        }
        if (total := sum(numbers.values())) > RUNS:
            largest = max(numbers, key=lambda key: numbers[key])
            raise RevocabError(
                f"{largest}.for: gives {numbers[largest]:,} runs, and sweeps {total:,} in all;"
                f" give at most {RUNS:,} in an experiment"
            )
        runs = {name: self.runs_of(name, group) for name, group in groups.items()}
        self.groups = {
            name: without_sweep(group, methods=self.with_parents(name, runs[name]))
            for name, group in groups.items()
        }

    @cached_property
    def result(self) -> Experiment:
        known = self.experiment.recipes
        new = {name: values for name, values in self.recipes.items() if name not in known}
        recipes = {**known, **{name: Recipe.model_validate(new[name]) for name in new}}
        return self.experiment.model_copy(update={"runs": self.groups, "recipes": recipes})

    def runs_of(self, group_id: str, group: RunGroup) -> dict[str, RunMethod]:
        runs: dict[str, RunMethod] = {}
        for name, entry in group.methods.items():
            key, sweep = f"runs.{group_id}.methods.{name}", group.setting(name, "for")
            if sweep is None:
                self.add(runs, name, without_sweep(entry), key)
                continue
            place = f"{key if 'for' in entry.model_fields_set else f'runs.{group_id}'}.for"
            axes = ([(axis, value) for value in values] for axis, values in sweep.axes.items())
            for point in product(*axes):
                run = self.run_at(group, name, dict(point), key, place)
                swept = "-".join([name, *(value for _, value in point)])
                if not sweep.seed:
                    self.add(runs, swept, run, key)
                elif run.seed is not None:
                    self.problems.append(f"{place}.seed: run {swept!r} sets one, too; remove one")
                for seed in sweep.seed or ():
                    replicate = run.model_copy(update={"seed": seed, "replicate_of": swept})
                    self.add(runs, f"{swept}-seed{seed}", replicate, key)
                    for prefix in (run_id(group_id, ""), f"runs.{group_id}.methods."):
                        self.as_in_file[f"{prefix}{swept}-seed{seed}"] = prefix + swept
        return runs

    def run_at(
        self, group: RunGroup, name: str, point: dict[str, str], key: str, place: str
    ) -> RunMethod:
        """Return the run at a value of each axis, or the run itself where that is wrong."""
        entry, sweep = without_sweep(group.methods[name]), group.setting(name, "for")
        if not (point or sweep.hold):
            return entry
        merged = entry.model_dump(exclude_unset=True)
        places = dict.fromkeys(merged.keys() - {"method", "recipe"}, key)
        changes: list[Change] = []
        for axis, value in point.items():
            at = f"{place}.{axis}.{value}"
            for what, setting in sweep.axes[axis][value].items():
                if what == "recipe" and isinstance(setting, dict):
                    changes.append((value, setting, f"{at}.recipe"))
                    continue
                if what in places:
                    twice = f"{at}.{what}: run {name!r} or another axis sets it; remove one"
                    self.problems.append(twice)
                merged[what], places[what] = setting, at
        try:
            run = ENTRY.validate_python({**merged, "axes": point})
        except ValidationError as error:  # of an unknown method without a key
            places[""] = places.get("method", key)
            self.problems += problems_of(error, RunEntry, key, places)
            return entry
        alone = group.model_copy(update={"methods": {name: run}})
        recipe, mixture = alone.setting(name, "recipe"), alone.setting(name, "mixture")
        if not (changes or sweep.hold):
            return run
        if recipe in self.recipes:
            recipe = self.recipe(recipe, mixture, changes, sweep.hold or {}, place)
        elif recipe is None:
            self.problems.append(f"{place}: run {name!r} has no recipe; name one")
        return run.model_copy(update={"recipe": recipe})

    def recipe(
        self, name: str, mixture: Any, changes: list[Change], hold: dict[str, int], place: str
    ) -> str:
        """Return the recipe with the changes of a run and the steps that it holds.

        One for the rows is made first, and one for the training on them where that says more.
        """
        of_rows = [change for change in changes if ROWS & change[1].keys()]
        values, shares = self.recipes[name], self.experiment.mixtures.get(mixture, {})
        for change in of_rows:
            if hold and {"steps", "tokens"} & change[1].keys():
                self.problems.append(f"{change[2]}: 'hold' decides the steps; remove one of them")
            name, values = self.changed(name, values, change)
        for corpus, tokens in hold.items() if shares else ():
            key, share = f"{place}.hold.{corpus}", shares.get(corpus)
            if share is None or share == "size":
                known = ", ".join(f"{corpus} {share}" for corpus, share in shares.items())
                self.problems.append(f"{key}: no number in mixture {mixture!r} (it has: {known})")
            elif any(stage.get("mixture") for stage in values.get("stages") or ()):
                self.problems.append(f"{key}: stages have mixtures of their own; give one mixture")
            else:
                steps = held_steps(tokens, share, values["batch_size"] * values["sequence_length"])
                name, values = self.changed(name, values, (mixture, {"steps": steps}, key))
        self.add(self.recipes, name, values, place)
        for change in changes:
            if change not in of_rows:
                name, values = self.changed(name, values, change)
        self.add(self.recipes, name, values, place)
        return name

    def changed(self, name: str, values: Any, change: Change) -> tuple[str, dict[str, Any]]:
        """Return name and values of a recipe with a change, or without one that is wrong."""
        value, changes, key = change
        laid, problems = changed_recipe(key, values, changes)
        try:
            Recipe.model_validate(laid)
        except ValidationError as error:
            problems = problems or list(problems_of(error, Recipe, key))
        self.problems += problems
        return (name, values) if problems else (f"{name}-{value}", laid)

    def with_parents(self, group_id: str, runs: dict[str, RunMethod]) -> dict[str, RunMethod]:
        """Return runs of which those of a seed begin from, or read, the run of that seed, which a
        file names without it.
        """
        linked = dict(runs)
        for name, run in runs.items():
            for key in PARENTS if run_id(group_id, name) in self.as_in_file else ():
                parent = getattr(run, key)
                if parent and (replicate := f"{parent.run}-seed{run.seed}") in self.as_in_file:
                    update = {key: parent.model_copy(update={"run": replicate})}
                    linked[name] = linked[name].model_copy(update=update)
        return linked

    def add(self, known: dict[str, Any], name: str, value: Any, place: str) -> None:
        if known.setdefault(name, value) != value:
            self.problems.append(
                f"{place}: two would be called {name!r}; rename one of them, or a value"
            )


def as_in_file(problems: Iterable[str], written: WrittenOut) -> list[str]:
    """Return problems, each once; those of runs of several seeds call them as the file does."""

    def renamed(problem: str) -> str:
        if OF_A_SEED.match(problem) is None:
            return problem
        problem = OF_A_SEED.sub(lambda name: written.as_in_file.get(name[0], name[0]), problem)
        # Lists of what is known would say each name once for each seed.
        return KNOWN.sub(lambda known: ", ".join(dict.fromkeys(known[0].split(", "))), problem)

    return list(dict.fromkeys(map(renamed, problems)))


def without_sweep(model: Any, **update: Any) -> Any:
    """Return a copy of a run or group as if it had never had a sweep."""
    copy = model.model_copy(update={**update, "for": None})
    copy.model_fields_set.discard("for")
    return copy


def held_steps(tokens: int, share: float, per_step: int) -> int:
    """Return the steps after which a corpus with a share of all tokens has given ``tokens``.

    The share is the decimal fraction that it is written as: a tenth stays a tenth.
    """
    return math.ceil(tokens / Fraction(str(share)) / per_step)
