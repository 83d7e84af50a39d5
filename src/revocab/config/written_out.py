"""Runs written out: from ``matrix:`` and ``seeds:`` to ordinary runs of a valid experiment.

A run of a matrix is called after the run and its values, ``<run>-<value>-<value>``. What these
change of a recipe becomes one of its own, called after that and the values, so that runs with equal
rows name one recipe to pack them by, whatever else they change.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from pydantic import TypeAdapter, ValidationError

from revocab.closed import near, problems_of
from revocab.config.lineage import PARENTS, run_id
from revocab.config.schema import Experiment
from revocab.config.schema.runs import RunEntry, RunGroup, RunMethod
from revocab.errors import RevocabError
from revocab.limits import RUNS
from revocab.training.named_recipes import laid_over
from revocab.training.recipe import PackingOptions, Recipe

#: The name or id of a run of one seed; and what is known, in a problem.
OF_A_SEED = re.compile(r"[a-z0-9][a-z0-9_.-]*-seed\d+(?![\w-])")
KNOWN = re.compile(r"(?<=\(known: )[^)]*")
#: Options of a recipe that decide which rows are packed.
ROWS = {*PackingOptions.model_fields, "batch_size", "steps", "tokens", "stages"}
ENTRY: TypeAdapter[RunMethod] = TypeAdapter(RunEntry)


@dataclass
class WrittenOut:
    """The runs and recipes that an experiment's matrices and seeds stand for."""

    experiment: Experiment
    #: As the file has them, their budgets in tokens or steps.
    recipes: dict[str, Any]
    problems: list[str] = field(default_factory=list)
    #: Names and ids of runs of one seed, with those of the run that the file names.
    as_in_file: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.recipes = dict(self.recipes)
        self.groups = self.experiment.runs
        numbers = {
            f"runs.{name}.methods.{run}": self.number(group, run)
            for name, group in self.groups.items()
            for run in group.methods
        }
        if (total := sum(numbers.values())) > RUNS:
            largest = max(numbers, key=lambda key: numbers[key])
            raise RevocabError(
                f"{largest}: its matrix and seeds give {numbers[largest]:,} runs, and"
                f" {total:,} in all; give at most {RUNS:,} in an experiment"
            )
        self.groups = {name: self.of_matrices(name, group) for name, group in self.groups.items()}
        self.groups = {name: self.of_seeds(name, group) for name, group in self.groups.items()}

    @property
    def result(self) -> Experiment:
        """Return the experiment with its runs and recipes written out."""
        made = {name: Recipe.model_validate(self.recipes[name]) for name in self.made}
        recipes = {**self.experiment.recipes, **made}
        return self.experiment.model_copy(update={"runs": self.groups, "recipes": recipes})

    @property
    def made(self) -> list[str]:
        return [name for name in self.recipes if name not in self.experiment.recipes]

    def number(self, group: RunGroup, run: str) -> int:
        axes = (group.setting(run, "matrix") or {}).values()
        return prod(map(len, axes)) * len(group.setting(run, "seeds") or [None])

    def of_matrices(self, group_id: str, group: RunGroup) -> RunGroup:
        entries: dict[str, RunMethod] = {}
        for name, entry in group.methods.items():
            matrix, key = group.setting(name, "matrix"), f"runs.{group_id}.methods.{name}"
            place = f"runs.{group_id}" + f".methods.{name}" * ("matrix" in entry.model_fields_set)
            for values in product(*(axis.items() for axis in (matrix or {}).values())):
                pieces = dict(zip(matrix or (), values, strict=True))
                several = pieces or group.setting(name, "hold")
                one = self.at(group, name, place, pieces) if several else entry
                self.add(entries, "-".join([name, *(value for value, _ in values)]), one, key)
        return without_several(group, {"matrix", "hold"}, methods=entries)

    def at(
        self, group: RunGroup, name: str, place: str, pieces: dict[str, tuple[str, dict[str, Any]]]
    ) -> RunMethod:
        """Return the run at one value of each axis; what is wrong with a value is added to the
        problems, and left out.
        """
        entry = group.methods[name]
        own = entry.model_dump(exclude_unset=True, exclude={"matrix", "hold"})
        method = next((piece["method"] for _, piece in pieces.values() if "method" in piece), None)
        merged = {**own, "method": method or entry.method}
        stated, changes, before = set(own) - {"method"}, [], len(self.problems)
        for axis, (value, piece) in pieces.items():
            key = f"{place}.matrix.{axis}.{value}"
            twice = sorted(stated & piece.keys() - {"recipe"})
            self.problems += [
                f"{key}.{what}: the run or another axis sets it; remove one" for what in twice
            ]
            of_recipe = piece.get("recipe")
            if isinstance(of_recipe, dict):
                changes.append((value, of_recipe, f"{key}.recipe"))
            keys = {
                what: piece[what]
                for what in piece
                if not isinstance(of_recipe, dict) or what != "recipe"
            }
            if self.is_right(ENTRY, RunEntry, {"method": merged["method"], **keys}, key):
                merged |= keys
                stated |= keys.keys()
        merged["axes"] = {axis: value for axis, (value, _) in pieces.items()}
        known = self.problems[before:]
        if not self.is_right(ENTRY, RunEntry, merged, place):  # as of another method's options
            self.problems[before:] = known or self.problems[before:]
            return entry
        run = ENTRY.validate_python(merged)
        alone = group.model_copy(update={"methods": {name: run}})
        hold = group.setting(name, "hold") or {}
        if not (changes or hold):
            return run
        base, mixture = alone.setting(name, "recipe"), alone.setting(name, "mixture")
        if base is None:
            self.problems.append(f"{place}.matrix: run {name!r} has no recipe; name one")
            return run
        recipe = self.recipe(base, mixture, changes, hold, place)
        return run.model_copy(update={"recipe": recipe})

    def recipe(
        self,
        base: str,
        mixture: str | None,
        changes: list[tuple[str, dict[str, Any], str]],
        hold: dict[str, int],
        place: str,
    ) -> str:
        """Return the recipe with the changes of a run and the steps that it holds.

        One for the rows is made first, and one for the training on them where that says more.
        """
        if base not in self.recipes:
            return base  # the checks tell
        rows = [change for change in changes if ROWS & change[1].keys()]
        self.problems += [
            f"{key}: 'hold' decides the steps; remove one of them"
            for _, change, key in rows
            if hold and {"steps", "tokens"} & change.keys()
        ]
        name, values = self.changed(base, self.recipes[base], rows)
        for corpus, tokens in hold.items():
            shares, key = self.experiment.mixtures.get(str(mixture), {}), f"{place}.hold.{corpus}"
            problems = list(hold_problems(key, corpus, shares, values))
            self.problems += problems
            if shares and not problems:
                per_step = values["batch_size"] * values["sequence_length"]
                steps = held_steps(tokens, float(shares[corpus]), per_step)
                held = f"{name}-{mixture}", laid_over(values, {"steps": steps})
                if self.is_right(Recipe, Recipe, held[1], key):
                    name, values = held
        self.add(self.recipes, name, values, place)
        rest = [change for change in changes if change not in rows]
        name, values = self.changed(name, values, rest)
        self.add(self.recipes, name, values, place)
        return name

    def changed(
        self, name: str, values: dict[str, Any], changes: list[tuple[str, dict[str, Any], str]]
    ) -> tuple[str, dict[str, Any]]:
        for value, change, key in changes:
            stages = change.get("stages")
            known = [stage["name"] for stage in values.get("stages") or ()]
            unknown = [stage for stage in stages or () if stage not in known]
            self.problems += [
                f"{key}.stages: no stage {stage!r} (known: {', '.join(known) or 'none'})"
                f"{near(stage, known)}"
                for stage in unknown
            ]
            laid = laid_over(values, change)
            if not unknown and self.is_right(Recipe, Recipe, laid, key):
                name, values = f"{name}-{value}", laid
        return name, values

    def of_seeds(self, group_id: str, group: RunGroup) -> RunGroup:
        """Return the group with a run for each seed. One that begins from a run with the same seed,
        or reads it, names it without its seed.
        """
        entries: dict[str, RunMethod] = {}
        for name, entry in group.methods.items():
            seeds, key = group.setting(name, "seeds"), f"runs.{group_id}.methods.{name}"
            place = f"runs.{group_id}" + f".methods.{name}" * ("seeds" in entry.model_fields_set)
            if seeds is None:
                self.add(entries, name, without_several(entry, {"seeds"}), key)
                continue
            if entry.seed is not None:
                self.problems.append(
                    f"{key}.seed: given, and so is {place}.seeds; remove"
                    " one of them, or say 'seeds: null' here"
                )
            for seed in seeds:
                own: dict[str, Any] = {"seed": seed, "replicate_of": name}
                for parent_key in PARENTS:
                    parent = getattr(entry, parent_key, None)
                    if parent is not None and seed in self.seeds_of(parent.run):
                        own[parent_key] = parent.model_copy(
                            update={"run": f"{parent.run}-seed{seed}"}
                        )
                replicate = f"{name}-seed{seed}"
                self.add(entries, replicate, without_several(entry, {"seeds"}, **own), key)
                for prefix in ("", run_id(group_id, ""), f"runs.{group_id}.methods."):
                    self.as_in_file[prefix + replicate] = prefix + name
        return without_several(group, {"seeds"}, methods=entries)

    def seeds_of(self, run: str) -> list[int]:
        found = (
            group.setting(name, "seeds")
            for group_id, group in self.groups.items()
            for name in group.methods
            if run_id(group_id, name) == run
        )
        return next(found, None) or []

    def add(self, known: dict[str, Any], name: str, value: Any, place: str) -> None:
        if known.setdefault(name, value) != value:
            self.problems.append(
                f"{place}: two would be called {name!r}; rename one of them, or a value"
            )

    def is_right(self, adapter: Any, model: Any, values: dict[str, Any], place: str) -> bool:
        """Add what is wrong with values to the problems; return whether nothing is."""
        validate = getattr(adapter, "validate_python", None) or adapter.model_validate
        try:
            validate(values)
        except ValidationError as error:
            self.problems += problems_of(error, model, place)
            return False
        return True


def as_in_file(problems: Iterable[str], written: WrittenOut) -> list[str]:
    """Return problems, each once; those of runs of several seeds call them as the file does."""

    def renamed(problem: str) -> str:
        if OF_A_SEED.match(problem) is None:
            return problem
        problem = OF_A_SEED.sub(lambda name: written.as_in_file.get(name[0], name[0]), problem)
        # Lists of what is known would say each name once for each seed.
        return KNOWN.sub(lambda known: ", ".join(dict.fromkeys(known[0].split(", "))), problem)

    return list(dict.fromkeys(map(renamed, problems)))


def without_several(model: Any, keys: set[str], **update: Any) -> Any:
    """Return a copy of a run or group as if it had never said ``keys``."""
    if not (keys & model.model_fields_set or update):
        return model
    copy = model.model_copy(update={**dict.fromkeys(keys), **update})
    copy.model_fields_set.difference_update(keys)
    return copy


def held_steps(tokens: int, share: float, per_step: int) -> int:
    """Return the steps after which a corpus with a share of all tokens has given ``tokens``.

    The share is the decimal fraction that it is written as: a tenth stays a tenth.
    """
    return math.ceil(tokens / Fraction(str(share)) / per_step)


def hold_problems(
    key: str, corpus: str, shares: dict[str, Any], recipe: dict[str, Any]
) -> Iterator[str]:
    share = shares.get(corpus)
    if corpus not in shares:
        yield (
            f"{key}: the mixture has no corpus {corpus!r} (known:"
            f" {', '.join(sorted(shares))}){near(corpus, shares.keys())}"
        )
    elif share == "size":
        yield f"{key}: the mixture says 'size' for its share; give a number"
    stages = recipe.get("stages") or ()
    # Tokens of all stages are shared out over other steps in proportion; of some, they contradict.
    budgets = ("steps",) if all("tokens" in stage for stage in stages) else ("steps", "tokens")
    for stage in stages:
        own = [budget for budget in (*budgets, "mixture") if stage.get(budget) is not None]
        if own:
            yield (
                f"{key}: stage {stage['name']!r} of the recipe has its own {' and '.join(own)}; "
                "give stages shares of the steps, and one mixture"
            )
