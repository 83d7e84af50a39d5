"""What is told of a file beside what does not fit the schema: all that is certain, no more."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from refusals import problems

from revocab.closed import problems_of
from revocab.config.load import read_values
from revocab.config.misfits import parts, without
from revocab.config.schema import Experiment
from revocab.config.written_out import with_all_runs

REPOSITORY = Path(__file__).resolve().parents[2]
Place = tuple[Any, ...]


@cache
def demo() -> dict[str, Any]:
    """Return the values of the demo, replicates written out; the tests change copies."""
    return with_all_runs(read_values(REPOSITORY / "config/demo.yaml"))[0]


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Yield the place of everything in a file."""
    for key, one in parts(value):
        yield (*here, key)
        yield from places(one, (*here, key))


def parent(values: Any, place: Place) -> Any:
    """Return what holds the thing at a place."""
    for key in place[:-1]:
        values = values[key]
    return values


def starts(values: dict[str, Any], *expected: str) -> None:
    """Check the beginnings of all problems of an experiment's values, in their order."""
    found = problems(values)
    assert len(found) == len(expected), found
    for line, start in zip(found, expected, strict=True):
        assert line.startswith(start)


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(REPOSITORY)


@pytest.fixture
def values() -> dict[str, Any]:
    return copy.deepcopy(demo())


def test_dangling_ids_are_told_beside_a_wrong_value(values):
    """Also those of the entry in which the wrong value stands."""
    values["recipes"]["adapt"]["steps"] = "many"
    values["runs"]["mistral"]["source"] = "mistrel"
    values["runs"]["llama"]["methods"]["fvt"]["seed"] = [1]
    values["runs"]["llama"]["methods"]["fvt"]["recipe"] = "adopt"
    values["intersections"] = [["source", 3], ["source", "nowhere"]]
    starts(
        values,
        "recipes.adapt.steps: Input should be a valid integer",
        "runs.llama.methods.fvt.seed: ",
        "intersections.0.1: ",
        "runs.mistral.source: no model 'mistrel'",
        "runs.llama.methods.fvt.recipe: no recipe 'adopt'",
        "intersections: no tokenizer 'nowhere'",
    )


def test_checks_of_whole_sections_are_told_beside_a_wrong_value(values):
    """A check that reads the wrong section, as that of steps does, waits."""
    values["evaluation"]["heldout"] = 3
    values["recipes"]["adapt"]["checkpoint_every"] = 1000
    values["evaluation"]["multiple_choice"]["steps"] = [33]
    starts(values, "evaluation.heldout: ", "recipes.adapt.checkpoint_every: 1000 is more than")


def test_an_entry_that_does_not_fit_is_there(values):
    values["models"]["mistral"]["hub"] = "two/origins"
    values["corpora"]["world-it"] = 3
    starts(values, "corpora.world-it: ", "models.mistral: exactly one of")


def test_a_section_under_a_misspelt_name_is_there(values):
    values["recipies"] = values.pop("recipes")
    del values["title"]
    values["fertility"]["corpora"] = ["nowhere"]
    starts(values, "title: required", "recipies: unknown key", "fertility.corpora: no corpus")


def test_a_section_that_is_no_mapping_tells_nothing_of_what_is_there(values):
    values["corpora"] = [1]
    starts(values, "corpora: ")


def test_without_takes_out_the_last_thing_on_the_way():
    value = {"a": {"b": [1, 2, 3], "c": 4}, "d": 5}
    assert without(value, [("a", "b", "0"), ("a", "b", "2")]) == {"a": {"b": [2], "c": 4}, "d": 5}
    assert without(value, [("a", "missing")]) == {"d": 5}
    assert without(value, [("a", "c", "of a kind"), ("none",)]) == {"a": {"b": [1, 2, 3]}, "d": 5}
    assert without(value, [("a", "c"), ("a",)]) == {"d": 5}


@settings(max_examples=60)
@given(st.data())
def test_one_wrong_value_tells_of_nothing_else(data):
    """Put anywhere into a file that is right: what follows from it is not told."""
    place = data.draw(st.sampled_from([*places(demo())]), label="place")
    values = copy.deepcopy(demo())
    parent(values, place)[place[-1]] = data.draw(st.sampled_from([3.5, "", [[]]]), label="value")
    only_misfits(values)


@settings(max_examples=60)
@given(st.data())
def test_a_misspelt_key_tells_of_nothing_else(data):
    keys = [place for place in places(demo()) if isinstance(place[-1], str)]
    place = data.draw(st.sampled_from(keys), label="place")
    values = copy.deepcopy(demo())
    there = parent(values, place)
    there[f"{place[-1]}{place[-1][-1]}"] = there.pop(place[-1])
    only_misfits(values)


def only_misfits(values: dict[str, Any]) -> None:
    """Check that nothing is told of values that do not fit the schema but that."""
    try:
        Experiment.model_validate(values)
    except ValidationError as error:
        assert problems(values) == [*problems_of(error, Experiment)]
