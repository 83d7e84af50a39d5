"""Sweeps: the runs that one stands for, and the recipes that they need.

A run of a sweep is called after the run and its values, ``<run>-<value>-<value>``. What it changes
of a recipe becomes one of its own, called after that and the values that matter to it, so that runs
with equal rows name one recipe to pack them by, whatever else they change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from pydantic import TypeAdapter, ValidationError

from revocab.closed import near, problems_of, unknown
from revocab.config.schema.runs import RunEntry, Sweep
from revocab.config.written_out import RawRun, mapping
from revocab.initialise.method import methods
from revocab.training.named_recipes import laid_over
from revocab.training.recipe import PackingOptions, Recipe
from revocab.training.stage import Stage

#: Keys of a run that an axis may set, beside its method's options; and where their ids are defined.
RUN_KEYS = ("method", "target", "helper", "mixture", "recipe", "start", "donor")
SECTIONS = {"target": "tokenizers", "helper": "models", "mixture": "mixtures", "recipe": "recipes"}
#: Options of a recipe, and of its stages, that decide which rows are packed.
ROWS = {*PackingOptions.model_fields, "batch_size", "steps", "tokens"}
STAGE_ROWS = {"steps", "tokens", "share", "mixture"}
STAGES = "stages"


@dataclass(frozen=True)
class Setting:
    """One value of one axis, as a run of a sweep has it."""

    #: Where the file has the axis.
    key: str
    #: What it sets: a key of a run, or ``recipe`` and what of that.
    what: str
    inside: str
    name: str
    value: Any

    @property
    def place(self) -> str:
        return f"{self.key}.values.{self.name}"

    @property
    def decides_rows(self) -> bool:
        first, *rest = self.inside.split(".")
        return rest[-1] in STAGE_ROWS if first == STAGES and rest else first in ROWS


class SweptRecipes:
    """Recipes of a file, and those that its sweeps make; problems are added to a list.

    A value that is wrong is told of once; the runs that would have it do without.
    """

    def __init__(self, values: dict[str, Any], problems: list[str]):
        self.values = values
        self.problems = problems
        recipes = values.get("recipes")
        self.recipes: dict[str, Any] = dict(recipes) if isinstance(recipes, dict) else {}

    def runs_of(self, run: RawRun) -> Iterator[RawRun]:
        if run.sweep is None:
            yield run
            return
        sweep, key = run.sweep, f"{run.places['sweep']}.sweep"
        self.right(double_problems(key, sweep))
        for values in product(*(axis.values.items() for axis in sweep.axes.values())):
            settings = []
            for (axis, swept), (name, value) in zip(sweep.axes.items(), values, strict=True):
                what, _, inside = swept.set.partition(".")
                settings.append(Setting(f"{key}.axes.{axis}", what, inside, name, value))
            names = [setting.name for setting in settings]
            axes = dict(zip(sweep.axes, names, strict=True))
            entry = {**self.entry(run, sweep, key, settings), "axes": axes}
            yield replace(run, name=joined(run.name, *names), entry=entry)

    def entry(self, run: RawRun, sweep: Sweep, key: str, settings: list[Setting]) -> dict[str, Any]:
        method_name = next(
            (setting.value for setting in settings if setting.what == "method"), None
        )
        method = str(method_name or run.entry.get("method", run.name))
        entry = {"method": run.name, **run.entry}
        usable = [
            setting for setting in settings if self.right(axis_problems(run, setting, method))
        ]
        for setting in usable:
            if not setting.inside and self.right(value_problems(setting, method, self.values)):
                entry[setting.what] = setting.value
        now = replace(run, entry=entry)
        options = [setting for setting in usable if setting.inside]
        if options or sweep.hold:
            entry["recipe"] = self.recipe(now, sweep, key, options)
        return entry

    def recipe(self, run: RawRun, sweep: Sweep, key: str, settings: list[Setting]) -> Any:
        """Return the recipe with the options that a run sets and the steps that it holds.

        One for the rows is made first, and one for the training on them where it says more.
        """
        base = run.setting("recipe")
        if base is None:
            keys = [f"{setting.key}.set" for setting in settings]
            keys += [f"{key}.hold"] * bool(sweep.hold)
            self.problems += [f"{key}: run {run.name!r} has no recipe; name one" for key in keys]
            return None
        recipe = mapping(self.recipes, str(base))
        if any(refusals(Recipe, recipe, "")):
            return base  # the schema tells
        right = [setting for setting in settings if self.right(recipe_problems(recipe, setting))]
        rows = [setting for setting in right if setting.decides_rows]
        rest = [setting for setting in right if not setting.decides_rows]
        name, recipe = joined(base, *(setting.name for setting in rows)), recipe_with(recipe, rows)
        for corpus, tokens in sweep.hold.items():
            mixture, place = run.setting("mixture"), f"{key}.hold.{corpus}"
            shares = mapping(mapping(self.values, "mixtures"), str(mixture))
            if shares and self.right(hold_problems(place, corpus, mixture, shares, recipe)):
                per_step = recipe["batch_size"] * recipe["sequence_length"]
                steps = held_steps(tokens, shares[corpus], per_step)
                held = laid_over(recipe, {"steps": steps})
                if self.right(refusals(Recipe, held, place)):
                    name, recipe = joined(name, mixture), held
        self._add(run, name, recipe)
        name, recipe = joined(name, *(setting.name for setting in rest)), recipe_with(recipe, rest)
        return self._add(run, name, recipe)

    def _add(self, run: RawRun, name: str, recipe: Any) -> str:
        if self.recipes.setdefault(name, recipe) != recipe:
            self.problems.append(
                f"{run.places['sweep']}.sweep: recipes.{name} would be generated from it, but"
                " exists with other values; rename a value"
            )
        return name

    def right(self, problems: Iterable[str]) -> bool:
        """Keep problems; return whether there were none."""
        new = list(problems)
        self.problems += new
        return not new


def joined(*names: str) -> str:
    return "-".join(names)


adapter = cache(TypeAdapter)


def refusals(model: Any, values: dict[str, Any], place: str) -> Iterator[str]:
    try:
        adapter(model).validate_python(values)
    except ValidationError as error:
        yield from problems_of(error, model, place)


def double_problems(sweep_key: str, sweep: Sweep) -> Iterator[str]:
    first: dict[str, str] = {}
    for axis, swept in sweep.axes.items():
        key = f"{sweep_key}.axes.{axis}.set"
        other = first.setdefault(swept.set, axis)
        if other != axis:
            yield f"{key}: axis {other!r} sets {swept.set!r} already; remove one of them"
        if sweep.hold and swept.set in ("recipe.steps", "recipe.tokens"):
            yield f"{key}: 'hold' decides the steps; remove one of them"


def axis_problems(run: RawRun, setting: Setting, method: str) -> Iterator[str]:
    key, what, inside = f"{setting.key}.set", setting.what, setting.inside
    options = methods()[method].options.model_fields if method in methods() else None
    if inside and what == "recipe":
        yield from option_problems(key, inside.split("."))
    elif what == "seed":
        yield f"{key}: 'seed' cannot be an axis; give 'seeds: [1, 2, 3]' next to the sweep"
    elif inside or (options is not None and what not in {*RUN_KEYS, *options}):
        allowed = [*RUN_KEYS, *sorted(options or ()), "recipe.<option>"]
        option = f"{what}.{inside}".rstrip(".")
        yield (
            f"{key}: {option!r} cannot be set by a sweep (allowed: {', '.join(allowed)})"
            f"{near(option, allowed)}"
        )
    elif what in run.entry:
        yield f"{run.key}.{what}: given here, and {setting.key} sets it; remove one of them"


def option_problems(key: str, path: list[str]) -> Iterator[str]:
    stage = path[0] == STAGES
    known = {*(Stage if stage else Recipe).model_fields} - {STAGES, "name"}
    if len(path) != (3 if stage else 1):
        yield (
            f"{key}: {'.'.join(path)!r} is not an option of a recipe; give recipe.<option> or "
            "recipe.stages.<name>.<option>"
        )
    elif path[-1] not in known:
        yield unknown(key, path[-1], known, "option of a stage" if stage else "option of a recipe")


def value_problems(setting: Setting, method: str, values: Mapping[str, Any]) -> Iterator[str]:
    what, place = setting.what, setting.place
    if what in SECTIONS:
        known = values.get(SECTIONS[what]) or {}
        if setting.value not in list(known):
            kind = SECTIONS[what].removesuffix("s")
            yield unknown(place, str(setting.value), list(known), kind)
    elif what == "method" or method in methods():
        yield from refusals(RunEntry, {"method": method, what: setting.value}, place)


def recipe_with(recipe: dict[str, Any], settings: list[Setting]) -> dict[str, Any]:
    for setting in settings:
        first, *rest = setting.inside.split(".")
        changes = {STAGES: {rest[0]: {rest[1]: setting.value}}} if rest else {first: setting.value}
        recipe = laid_over(recipe, changes)
    return recipe


def recipe_problems(recipe: dict[str, Any], setting: Setting) -> Iterator[str]:
    stage = setting.inside.split(".")[1:2]
    names = [stage["name"] for stage in recipe.get(STAGES) or ()]
    if stage and stage[0] not in names:
        yield unknown(f"{setting.key}.set", stage[0], names, "stage")
    else:
        yield from refusals(Recipe, recipe_with(recipe, [setting]), setting.place)


def held_steps(tokens: int, share: float, per_step: int) -> int:
    """Return the steps after which a corpus with a share of all tokens has given ``tokens``.

    The share is the decimal fraction that it is written as: a tenth stays a tenth.
    """
    return math.ceil(tokens / Fraction(str(share)) / per_step)


def hold_problems(
    key: str, corpus: str, identifier: str, mixture: dict[str, Any], recipe: dict[str, Any]
) -> Iterator[str]:
    share = mixture.get(corpus)
    if corpus not in mixture:
        yield (
            f"{key}: mixture {identifier!r} has no corpus {corpus!r} (known:"
            f" {', '.join(sorted(mixture))}){near(corpus, mixture.keys())}"
        )
    elif isinstance(share, bool) or not (isinstance(share, int | float) and 0 < share <= 1):
        yield f"{key}: mixture {identifier!r} says {share!r} for its share; give a number"
    stages = recipe.get(STAGES) or ()
    # Tokens of all stages are shared out over other steps in proportion; of some, they contradict.
    budgets = ("steps",) if all("tokens" in stage for stage in stages) else ("steps", "tokens")
    for stage in stages:
        own = [key for key in (*budgets, "mixture") if stage.get(key) is not None]
        if own:
            yield (
                f"{key}: stage {stage['name']!r} of the recipe has its own {' and '.join(own)}; "
                "give stages shares of the steps, and one mixture"
            )
