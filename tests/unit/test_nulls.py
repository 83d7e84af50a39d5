"""Null is the default: every option of an experiment, a method, a construction, a recipe, a job."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
import yaml
from every_key_files import make_files
from pydantic import BaseModel

from revocab import __main__ as entry
from revocab.closed import Closed, checked
from revocab.config import Experiment, validate
from revocab.config.load import SAID, without_nulls
from revocab.errors import RevocabError
from revocab.initialise.method import methods
from revocab.initialise.options import check_options
from revocab.tokenizer_building.build import check_construction_options
from revocab.tokenizer_building.construction import constructions
from revocab.training.named_recipes import recipe_names, with_named_recipes
from revocab.training.recipe import Recipe

REPOSITORY = Path(__file__).resolve().parents[2]
#: One thing of every kind that the schema knows.
WHOLE = REPOSITORY / "tests/workflow/every_key.yaml"
#: Options that a construction cannot do without.
NEEDED = {
    "train": {"corpora": {"it": 1.0}, "vocabulary_size": 300, "alphabet": "byte_level"},
    "substitute": {"hub": "o/m"},
    "extend": {"base": "b", "corpora": {"it": 1.0}, "add": 3},
    "replace": {"base": "b", "corpora": {"it": 1.0}, "share": 0.1},
    "optimise": {"base": "b", "corpora": {"it": 1.0}},
    "adopt": {"base": "b", "chat": "c"},
}
Place = tuple[str | int, ...]


def members(annotation: Any) -> list[Any]:
    """Return the types that an annotation allows."""
    if get_origin(annotation) is Annotated:
        return members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [one for part in get_args(annotation) for one in members(part)]
    return [annotation]


def tag_of(kind: type[BaseModel]) -> str | None:
    """Return what tells a model of a union from the others."""
    fields = kind.model_fields
    tag = fields.get("kind") or fields.get("method")
    return get_args(tag.annotation)[0] if tag and get_args(tag.annotation) else None


def models_in(annotation: Any, value: Any, place: Place = ()) -> Iterator[tuple[Place, type]]:
    """Yield every place of a value at which a model stands, with the model."""
    for kind in members(annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value, dict):
            several = len(members(annotation)) > 1
            if several and tag_of(kind) not in (value.get("kind"), value.get("method"), place[-1]):
                continue
            yield place, kind
            for name, field in kind.model_fields.items():
                if name in value:
                    yield from models_in(field.annotation, value[name], (*place, name))
        elif get_origin(kind) is dict and isinstance(value, dict):
            for name, one in value.items():
                yield from models_in(get_args(kind)[1], one, (*place, name))
        elif get_origin(kind) is list and isinstance(value, list):
            for number, one in enumerate(value):
                yield from models_in(get_args(kind)[0], one, (*place, number))


def with_option(values: dict, place: Place, key: str, null: bool) -> dict:
    """Return values in which an option is null, or not given."""
    values = copy.deepcopy(values)
    inner: Any = values
    for part in place:
        inner = inner[part]
    inner.pop(key, None)
    if null:
        inner[key] = None
    return values


def outcome(values: dict) -> Any:
    """Return the experiment, or what is wrong with it."""
    try:
        return validate(values)
    except RevocabError as error:
        # A value that is wrong as a whole is shown as it was received.
        return [line.partition(", received ")[0] for line in error.problems]


WHOLE_VALUES = yaml.safe_load(WHOLE.read_text())
WHOLE_VALUES.setdefault("similarity", {})
WHOLE_VALUES["evaluation"].setdefault("significance", {})
PARTS = {
    part: {"world": f"questions.it.{name}"} for part, name in (("pool", "train"), ("test", "test"))
}
ANSWERS = {"kind": "question_answering", "direction": ["it"], "shots": 1, "layout": {}, **PARTS}
WHOLE_VALUES["evaluation"]["generation"]["tasks"].setdefault("answers", ANSWERS)
WHOLE_VALUES["runs"]["main"]["chat"] = {}
WHOLE_VALUES["runs"]["main"]["methods"]["after"] = {"method": "lapt", "start": {"run": "main-sava"}}
#: Every option of every model that stands somewhere in it, at one place of each.
OPTIONS = {
    (model, key): place
    for place, model in models_in(Experiment, WHOLE_VALUES)
    for key, field in model.model_fields.items()
    if not field.is_required()
}


@pytest.fixture(autouse=True, scope="module")
def place(tmp_path_factory):
    """The files that the experiment names."""
    folder = tmp_path_factory.mktemp("every-key")
    make_files(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield


def test_the_experiment_is_right():
    assert isinstance(outcome(WHOLE_VALUES), Experiment)


@pytest.mark.parametrize(
    "model", {model: None for model, _ in OPTIONS}, ids=lambda one: one.__name__
)
def test_a_null_in_an_experiment_is_the_default(model):
    for (of, key), place in OPTIONS.items():
        if of is model:
            plain, null = (with_option(WHOLE_VALUES, place, key, null) for null in (False, True))
            if place[:1] != ("runs",) or key not in SAID:  # there it says something
                assert outcome(null) == outcome(plain), (*place, key)


def test_the_experiment_has_every_model_of_the_schema():
    """So that the table above is whole; places of tokenizers and rows are all used in it."""
    found, waiting = set(), [Experiment]
    while waiting:
        one = waiting.pop()
        if get_args(one):
            waiting += get_args(one)
        elif isinstance(one, type) and issubclass(one, BaseModel) and one not in found:
            found.add(one)
            waiting += [field.annotation for field in one.model_fields.values()]
    optional = {
        one for one in found if not all(field.is_required() for field in one.model_fields.values())
    }
    entries = {one for one in optional if tag_of(one) in methods()}  # one for each method
    assert optional - entries == {model for model, _ in OPTIONS} - entries


def test_no_null_means_anything_but_the_default():
    """A job is written with its nulls, and must be read as it was."""
    waiting: list[type] = [Closed]
    for name in entry.command_files():
        import_module(f"revocab.commands.{name}")
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


@pytest.mark.parametrize("name", methods())
def test_a_null_option_of_a_method_is_its_default(name):
    method = methods()[name]
    for key in method.options.model_fields:
        assert check_options(method, {key: None}) == check_options(method, {}), key


@pytest.mark.parametrize("name", [name for name, one in methods().items() if one.trains])
def test_a_null_option_of_a_run_is_no_option(name):
    values = copy.deepcopy(WHOLE_VALUES)
    group = next(iter(values["runs"].values()))
    group["methods"] = {
        "one": {"method": name, **dict.fromkeys(methods()[name].options.model_fields)}
    }
    run = next(iter(Experiment.model_validate(values).runs.values())).methods["one"]
    assert run.options == {}


@pytest.mark.parametrize("name", NEEDED)
def test_a_null_option_of_a_construction_is_its_default(name):
    construction, needed = constructions()[name], NEEDED[name]
    plain = check_construction_options(construction, needed)
    for key in construction.options.model_fields.keys() - needed.keys():
        null = check_construction_options(construction, {**needed, key: None})
        assert null == plain and null.given() == plain.given(), key


@pytest.mark.parametrize("name", recipe_names())
def test_a_null_over_a_named_recipe_is_what_the_recipe_says(name):
    """Also where keys stand for one another: ``steps: null`` takes no ``tokens`` away."""

    def recipe(changes: dict) -> Recipe:
        given = {"recipes": {"one": {"from": name, **changes}}}
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
    recipes = {"recipes": {"one": {**given, "from": None}}}
    values, problems = with_named_recipes(without_nulls(recipes))
    assert problems == [] and checked(Recipe, values["recipes"]["one"]) == checked(Recipe, given)
    stage = {"name": "all", "steps": 10}
    plain = checked(Recipe, {**given, "stages": [stage]})
    assert plain.stages[0].warmup_steps == 2
    for key in ("warmup_steps", "warmup_share", "tokens", "share", "groups", "train", "schedule"):
        assert checked(Recipe, {**given, "stages": [{**stage, key: None}]}) == plain, key


def test_a_null_where_something_is_needed_is_an_error_of_the_file():
    values = yaml.safe_load((REPOSITORY / "tests/experiments/small.yaml").read_text())
    values["runs"]["mistral"]["source"] = None
    values["tokenizers"]["source"]["train"]["vocabulary_size"] = None
    with pytest.raises(RevocabError) as caught:
        validate(values)
    keys = [problem.partition(":")[0] for problem in caught.value.problems]
    assert keys == ["tokenizers.source.train.vocabulary_size", "runs.mistral.source"]
