"""Every bad axis of a sweep is one clear line."""

from __future__ import annotations

from typing import Any

import pytest
from one_group import axes, experiment
from refusals import problems

from revocab.config import validate
from revocab.errors import RevocabError

RATES = {"quarter": 7.5e-5, "half": 1.5e-4, "full": 3.0e-4}
KEY = "runs.g.methods.sava.sweep"
WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = {
    "unknown mixture": (
        axes(mix=("mixture", ["m9", "m7"])), {},
        (f"{KEY}.axes.mix.values.m7: no mixture 'm7' (known:",),
    ),
    "unknown method": (
        axes(by=("method", ["sav"])), {}, (f"{KEY}.axes.by.values.sav: no method 'sav'",),
    ),
    "unknown key": (
        axes(n=("anchor", [100])), {},
        (f"{KEY}.axes.n.set: 'anchor' cannot be set by a sweep", "did you mean 'anchors'?"),
    ),
    "unknown option of a recipe": (
        axes(rate=("recipe.learning_rat", RATES)), {},
        (f"{KEY}.axes.rate.set: no option of a recipe 'learning_rat'", "'learning_rate'"),
    ),
    "a refused option of a recipe": (
        axes(rate=("recipe.learning_rate", {"none": -1, "some": 1e-3})), {},
        (f"{KEY}.axes.rate.values.none.learning_rate: expected more than 0", "-1"),
    ),
    "unknown stage": (
        axes(rate=("recipe.stages.three.learning_rate", RATES)), {"recipe": "staged"},
        (f"{KEY}.axes.rate.set: no stage 'three' (known: one, two)",),
    ),
    "a refused option of a method": (
        axes(n=("anchors", {"none": -5})), {},
        (f"{KEY}.axes.n.values.none.anchors:", "received -5"),
    ),
    "numbers without names": (
        axes(rate=("recipe.learning_rate", [7.5e-5, 1.5e-4])), {},
        (f"{KEY}.axes.rate.values: a list may hold ids and whole numbers", "{low: 1.0e-4"),
    ),
    "a value twice": (
        axes(mix=("mixture", ["m9", "m9"])), {}, (f"{KEY}.axes.mix.values: a value is given",),
    ),
    "two axes for one thing": (
        axes(mix=("mixture", ["m9"]), mixed=("mixture", ["m3"])), {},
        (f"{KEY}.axes.mixed.set: axis 'mix' sets 'mixture' already",),
    ),
    "said by the run itself": (
        axes(mix=("mixture", ["m9", "m3"])), {"mixture": "even"},
        ("runs.g.methods.sava.mixture: given here, and", "axes.mix sets it; remove one of them"),
    ),
    "runs of one name": (
        axes(a=("mixture", {"m": "m9", "m-x": "m3"}), b=("anchors", {"x-y": 5, "y": 6})), {},
        (f"{KEY}: two runs of group 'g' would be called 'sava-m-x-y'; rename",),
    ),
    "a run that is not trained": (
        axes(rate=("recipe.learning_rate", RATES)), {"recipe": None},
        (f"{KEY}.axes.rate.set: run 'sava' has no recipe; name one",),
    ),
    "an unknown corpus to hold": (
        {**axes(mix=("mixture", ["m9"])), "hold": {"world-fr": 9}}, {},
        (f"{KEY}.hold.world-fr: mixture 'm9' has no corpus 'world-fr'",),
    ),
    "hold and steps": (
        {**axes(n=("recipe.steps", [9000])), "hold": {"world-it": 10**10}}, {},
        (f"{KEY}.axes.n.set: 'hold' decides the steps; remove one of them",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_bad_axis_is_one_clear_line(case):
    sweep, run, parts = WRONG[case]
    (line,) = problems(experiment(sweep, **run))
    assert all(part in line for part in parts), line


def test_stages_with_tokens_keep_their_proportions_over_the_steps_that_hold():
    values = experiment({**axes(mix=("mixture", ["m9"])), "hold": {"world-it": 14 * 10**9}})
    stages = [{"name": "one", "tokens": 3 * 10**9}, {"name": "two", "tokens": 10**9}]
    values["recipes"]["gosal"]["stages"] = stages
    del values["recipes"]["gosal"]["tokens"]
    first, second = validate(values).recipes["gosal-m9"].stages
    assert (first.steps + second.steps, first.steps) == (3956, 2967)


def test_stages_with_steps_of_their_own_hold_nothing():
    values = experiment({**axes(mix=("mixture", ["m9"])), "hold": {"world-it": 10**6}})
    values["recipes"]["gosal"] = values["recipes"]["staged"] | {
        "stages": [{"name": "one", "steps": 4}, {"name": "two", "steps": 6}]
    }
    with pytest.raises(RevocabError, match="stage 'one' of the recipe has its own steps"):
        validate(values)


def test_a_swept_run_has_no_name_of_another():
    values = experiment(axes(mix=("mixture", ["m9"])))
    values["runs"]["g"]["methods"]["sava-m9"] = {"method": "fvt", "evaluate": False}
    (line,) = problems(values)
    assert line.startswith(f"{KEY}: two runs of group 'g' would be called 'sava-m9'")


def test_a_made_recipe_has_no_name_of_another():
    values = experiment(axes(rate=("recipe.learning_rate", {"low": 1e-5})))
    values["recipes"]["gosal-low"] = values["recipes"]["gosal"]
    (line,) = problems(values)
    assert line.startswith(f"{KEY}: recipes.gosal-low would be generated from it")


@pytest.mark.parametrize("shape", [[], "all", {"g": []}, {"g": {"methods": [1]}}])
def test_what_is_no_group_is_left_for_the_schema(shape):
    values = experiment()
    values["runs"] = shape
    with pytest.raises(RevocabError):
        validate(values)
