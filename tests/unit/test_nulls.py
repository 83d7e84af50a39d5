"""Null is the default: every option of an experiment, a method, a construction, a recipe, a job."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from one_group import one_group
from refusals import problems

from revocab.closed import Closed, checked, models_of
from revocab.experiment.load import validate, without_nulls
from revocab.experiment.schema import RunGroup
from revocab.initialise.method import methods
from revocab.initialise.options import ChosenMethod
from revocab.training.named_recipes import recipe_names, with_named_recipes
from revocab.training.recipe import Recipe
from revocab.verbs import find, places
from revocab.vocabulary.building.construction import constructions

#: Options that a construction cannot do without.
NEEDED = {
    "train": {"corpora": {"it": 1.0}, "vocabulary_size": 300, "alphabet": "byte_level"},
    "substitute": {"hub": "o/m"},
    "extend": {"base": "b", "corpora": {"it": 1.0}, "add": 3},
    "replace": {"base": "b", "corpora": {"it": 1.0}, "share": 0.1},
    "optimise": {"base": "b", "corpora": {"it": 1.0}},
    "trim": {"base": "b", "corpora": {"it": 1.0}, "keep": 300},
    "adopt": {"base": "b", "chat": "c"},
}


def members(annotation: Any) -> list[Any]:
    """Return the types that an annotation allows."""
    if get_origin(annotation) is Annotated:
        return members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [one for part in get_args(annotation) for one in members(part)]
    return [annotation]


def test_no_null_means_anything_but_the_default():
    """A job is written with its nulls, and must be read as it was."""
    waiting: list[type] = [Closed]
    for name in places():
        find(name)
    seen = 0
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        for key, field in model.model_fields.items():
            seen += 1
            if type(None) in members(field.annotation) and not field.is_required():
                default = field.get_default(call_default_factory=True)
                assert default is None, (
                    f"{model.__name__}.{key}: null cannot be told from {default}"
                )
    assert seen > 300


@pytest.mark.parametrize("name", models_of(ChosenMethod))
def test_a_null_option_of_a_method_is_its_default(name):
    model = models_of(ChosenMethod)[name]
    for key in model.model_fields.keys() - {"method"}:
        assert checked(model, {"method": name, key: None}) == checked(model, {"method": name}), key


@pytest.mark.parametrize("name", [name for name, one in methods().items() if one.trains])
def test_a_null_option_of_a_run_is_no_option(name):
    entry = {"method": name, **dict.fromkeys(methods()[name].options.model_fields)}
    group = RunGroup(label="G", source="s", methods={"one": entry})
    assert group.methods["one"].options == {}


@pytest.mark.parametrize("name", NEEDED)
def test_a_null_option_of_a_construction_is_its_default(name):
    model, needed = constructions()[name].entry, NEEDED[name]
    plain = checked(model, needed)
    for key in model.model_fields.keys() - needed.keys():
        assert checked(model, {**needed, key: None}) == plain, key


@pytest.mark.parametrize("name", recipe_names())
def test_a_null_over_a_named_recipe_is_what_the_recipe_says(name):
    """Also where keys stand for one another: ``steps: null`` takes no ``tokens`` away."""

    def recipe(changes: dict) -> Recipe:
        given = {"recipes": {"one": {"like": name, **changes}}}
        values, problems = with_named_recipes(without_nulls(given))
        assert problems == []
        return checked(Recipe, values["recipes"]["one"])

    for key in Recipe.model_fields:
        assert recipe({key: None}) == recipe({}), key
    for stage in recipe({}).stages or ():
        for key in type(stage).model_fields:
            assert recipe({"stages": {stage.name: {key: None}}}) == recipe({}), key
        assert recipe({"stages": {stage.name: None}}) == recipe({})


def test_a_recipe_from_nowhere_and_a_stage_with_nulls_are_plain_ones():
    given = {"sequence_length": 8, "batch_size": 1, "steps": 10, "learning_rate": 1e-4,
             "checkpoint_every": 5, "warmup_share": 0.2}  # fmt: skip
    recipes = {"recipes": {"one": {**given, "like": None}}}
    values, problems = with_named_recipes(without_nulls(recipes))
    assert problems == [] and checked(Recipe, values["recipes"]["one"]) == checked(Recipe, given)
    stage = {"name": "everything", "steps": 10}
    plain = checked(Recipe, {**given, "stages": [stage]})
    assert plain.stages[0].warmup_steps == 2
    for key in ("warmup_steps", "warmup_share", "tokens", "share", "groups", "train", "schedule"):
        assert checked(Recipe, {**given, "stages": [{**stage, key: None}]}) == plain, key


def test_a_null_where_something_is_needed_is_an_error_of_the_file():
    values = one_group({})
    values["runs"]["g"]["source"] = None
    values["tokenizers"]["source"]["train"]["vocabulary_size"] = None
    keys = [problem.partition(":")[0] for problem in problems(values)]
    assert keys == ["tokenizers.source.train.vocabulary_size", "runs.g.source"]


def test_no_generation_asks_for_no_context():
    """The stand-ins of the tests have a shorter one than generation has by default."""
    values = one_group({"sava": {}})
    values["evaluation"]["generation"] = None
    assert validate(values).evaluation.generation.tasks == {}
