"""Sweeps written out: from ``sweep:`` to ordinary runs, before a file is validated.

A run of a sweep is called after the run and its values, ``<run>-<value>-<value>``. What it changes
of a recipe or mixture becomes one of its own, called after those and the values that matter to it,
so that runs with equal rows name one recipe to pack them by, whatever else they change.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from revocab.config.raw_runs import RawRun, write_out
from revocab.config.schema.sweeps import Sweep
from revocab.config.sweep_axes import (
    Setting,
    axis_problems,
    held_steps,
    hold_problems,
    is_recipe,
    method_of,
    mixture_problems,
    mixture_with,
    recipe_problems,
    recipe_refusals,
    recipe_with,
    value_problems,
)
from revocab.training.named_recipes import laid_over


def with_sweeps(values: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return an experiment's values with every sweep written out, and a problem for what cannot be.

    A value that is wrong is told of once; the runs that would have it do without.
    """
    made = _Made(values)
    found, problems = write_out(values, "sweep", made.runs_of)
    sections = {name: one for name, one in made.sections.items() if one and one != values.get(name)}
    return {**found, **sections}, problems


def joined(*names: str) -> str:
    """Return the id of something that is called after several."""
    return "-".join(names)


class _Made:
    """Mixtures and recipes of a file, and those that its sweeps make."""

    def __init__(self, values: dict[str, Any]):
        self.values = values
        self.sections: dict[str, dict[str, Any]] = {
            name: dict(given) if isinstance(given := values.get(name), dict) else {}
            for name in ("mixtures", "recipes")
        }
        self.problems: list[str] = []
        self.key = ""  # where the sweep at hand stands

    def runs_of(self, run: RawRun) -> tuple[dict[str, Any], list[str]]:
        """Return the runs in the place of one, by name, and the problems of its sweep."""
        self.problems, self.key = [], f"{run.place('sweep')}.sweep"
        sweep, wrong = run.several("sweep")
        if sweep is None:
            return {run.name: run.without("sweep")}, wrong
        self.problems += _double(self.key, sweep)
        found: dict[str, Any] = {}
        for values in product(*(axis.values.items() for axis in sweep.axes.values())):
            settings = [
                Setting(f"{self.key}.axes.{axis}", *_target(one.set), name, value)
                for (axis, one), (name, value) in zip(sweep.axes.items(), values, strict=True)
            ]
            name = joined(run.name, *(one.name for one in settings))
            if name in found:
                self.problems.append(
                    f"{self.key}: two runs would be called {name!r}; rename a value"
                )
            axes = {axis: one.name for axis, one in zip(sweep.axes, settings, strict=True)}
            found[name] = {**self.run(run, sweep, settings), "axes": axes}
        return found, self.problems

    def run(self, run: RawRun, sweep: Sweep, settings: list[Setting]) -> dict[str, Any]:
        """Return one run of a sweep."""
        method = method_of(run, settings)
        entry = {"method": run.name, **run.without("sweep")}
        usable = [one for one in settings if self._right(axis_problems(run, one, method))]
        for one in usable:
            if not one.inside and self._right(value_problems(run, one, method, self.values)):
                entry[one.what] = one.value
        now = RawRun(run.group_id, run.group, run.name, entry)
        shares = [one for one in usable if one.inside and one.what == "mixture"]
        options = [one for one in usable if one.inside and one.what == "recipe"]
        if shares:
            entry["mixture"] = self.mixture(now, shares)
        if options or sweep.hold:
            entry["recipe"] = self.recipe(now, sweep, options)
        return entry

    def mixture(self, run: RawRun, settings: list[Setting]) -> Any:
        """Return the mixture with the shares that a run sets, made if it is not there."""
        base = run.setting("mixture")
        content = self._given("mixtures", base)
        if not content:
            return base
        right = [one for one in settings if self._right(mixture_problems(base, content, one))]
        if not right:
            return base
        if sum(one.value for one in right) >= 1:
            given = " + ".join(f"{one.value:g}" for one in right)
            self.problems.append(
                f"{right[-1].place}: shares {given} leave nothing for other corpora; lower one"
            )
            return base
        name = joined(base, *(one.name for one in right))
        return self._add("mixtures", name, mixture_with(content, right))

    def recipe(self, run: RawRun, sweep: Sweep, settings: list[Setting]) -> Any:
        """Return the recipe with the options that a run sets and the steps that it holds.

        One for the rows is made first, and one for the training on them where it says more.
        """
        base = run.setting("recipe")
        if base is None:
            keys = [f"{one.key}.set" for one in settings]
            keys += [f"{self.key}.hold"] * bool(sweep.hold)
            self.problems += [f"{key}: run {run.name!r} has no recipe; name one" for key in keys]
            return None
        content = self._given("recipes", base)
        if not is_recipe(content):
            return base
        right = [one for one in settings if self._right(recipe_problems(content, one))]
        rows = [one for one in right if one.decides_rows]
        rest = [one for one in right if not one.decides_rows]
        name, content = joined(base, *(one.name for one in rows)), recipe_with(content, rows)
        name, content = self.held(run, sweep, name, content)
        self._add("recipes", name, content)
        name, content = joined(name, *(one.name for one in rest)), recipe_with(content, rest)
        return self._add("recipes", name, content)

    def held(
        self, run: RawRun, sweep: Sweep, name: str, recipe: dict[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Return name and content of a recipe with the steps that a sweep's ``hold`` asks for."""
        for corpus, tokens in sweep.hold.items():
            mixture = run.setting("mixture")
            shares = self._given("mixtures", mixture)
            key = f"{self.key}.hold.{corpus}"
            if shares and self._right(hold_problems(key, corpus, mixture, shares, recipe)):
                per_step = recipe["batch_size"] * recipe["sequence_length"]
                steps = held_steps(tokens, shares[corpus], per_step)
                held = laid_over(recipe, {"steps": steps})
                if self._right(recipe_refusals(held, key)):
                    return joined(name, mixture), held
        return name, recipe

    def _given(self, section: str, name: Any) -> dict[str, Any]:
        """Return a mixture or recipe; nothing where it is missing, which checks tell."""
        found = self.sections[section].get(str(name))
        return found if isinstance(found, dict) else {}

    def _add(self, section: str, name: str, content: Any) -> str:
        """Keep a mixture or recipe under a name; another one of that name is a problem."""
        if self.sections[section].setdefault(name, content) != content:
            self.problems.append(
                f"{self.key}: {section}.{name} would be generated from it, but exists with other"
                " values; rename a value"
            )
        return name

    def _right(self, problems: Iterator[str]) -> bool:
        """Keep problems; return whether there were none."""
        found = list(problems)
        self.problems += found
        return not found


def _target(key: str) -> tuple[str, str]:
    """Return what an axis sets, and what of it."""
    what, _, inside = key.partition(".")
    return what, inside


def _double(sweep_key: str, sweep: Sweep) -> Iterator[str]:
    """Yield a problem for everything that two axes set, or an axis and what is held constant."""
    first: dict[str, str] = {}
    for axis, one in sweep.axes.items():
        key = f"{sweep_key}.axes.{axis}.set"
        other = first.setdefault(one.set, axis)
        if other != axis:
            yield f"{key}: axis {other!r} sets {one.set!r} already; remove one of them"
        if sweep.hold and one.set in ("recipe.steps", "recipe.tokens"):
            yield f"{key}: 'hold' decides the steps; remove one of them"
