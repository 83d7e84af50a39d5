"""Every key of an experiment file, as the schema has it, refuses what is not of its type.

A key that is added is tried without a line here, and must be of a type that is known here. What the
key's message must name is the key.
"""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any, Literal, get_origin

import pytest
import yaml
from other_values import OtherValues, Place, members, places
from user_files import make_every_key

from revocab.errors import RevocabError
from revocab.experiment import Experiment, validate
from revocab.experiment.load import as_stated
from revocab.initialise.method import methods

#: What runs may set by a sweep.
SWEPT = ("recipes", "mixtures", "corpora")
#: The types that each key may have.
TYPES: dict[str, set[Any]] = {}
for key_of_schema, place_of_schema in places(Experiment, None):
    kinds = {get_origin(kind) or kind for kind in members(place_of_schema.kind)}
    TYPES.setdefault(key_of_schema, set()).update(kinds)
NUMBERS = {key: kinds & {int, float} for key, kinds in TYPES.items() if kinds & {int, float}}
HUGE, INFINITE = 10**30, (math.inf, -math.inf, math.nan)
#: What no number of a kind may be, beside what is no number.
WRONG = {int: (-1, 1.5, HUGE, *INFINITE), float: (-0.5, float(HUGE), *INFINITE)}
NO_NUMBERS = (True, False, "017x", [], {})
#: What no other type takes.
OTHERS: dict[Any, tuple[Any, ...]] = {
    str: (3.5, {"a": 1}), bool: ("maybe", 3), Literal: ("no such choice", 3.5, {"a": 1}),
    list: (3.5, True), tuple: (3.5, True),
}  # fmt: skip
#: Keys that take anything, and what checks it: the judge, and what a sweep sets.
ANYTHING = ("answers.judge.checks.*", "for.*.*.*")
#: Numbers without a sign of their own: what rows hold, what claims ask, what models weigh.
SIGNED = ("keep.*.min", "keep.*.max", "at_least", "at_most", "weights.*", "sum.add.*.weight")
#: Of these, what has no ceiling.
UNBOUNDED = SIGNED[:4]


def wrong_values(key: str) -> list[Any]:
    """Return what a key must refuse. Where an id may stand, text is one."""
    kinds = TYPES[key]
    if not kinds & {int, float}:
        return [value for value in OTHERS[min(kinds, key=str)] if refuses_all(kinds, value)]
    values = [value for kind in kinds & {int, float} for value in WRONG[kind]]
    if key.endswith(SIGNED):
        values = [value for value in values if value != -0.5]
    if key.endswith(UNBOUNDED):
        values = [value for value in values if value != float(HUGE)]
    ids = key.endswith(("step", "rank_by", ".end", "tables.*.steps.*"))
    return [
        *values,
        *(value for value in NO_NUMBERS if not (ids and isinstance(value, bool | str))),
    ]


def refuses_all(kinds: set[Any], value: Any) -> bool:
    """Return whether a value is wrong for every type that a key may have."""
    return all(any(value is wrong for wrong in OTHERS[kind]) for kind in kinds)


def with_value(values: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    """Return an experiment with another value in one place, and mappings down to it."""
    changed = {**values, place.keys[0]: copy.deepcopy(values.get(place.keys[0]))}
    here: Any = changed
    for name in place.keys[:-1]:
        if isinstance(here, dict) and not isinstance(here.get(name), dict | list):
            here[name] = {}
        here = here[name]
    here[place.keys[-1]] = value
    return changed


def place_of(others: OtherValues, key: str) -> tuple[dict[str, Any], Place]:
    """Return an experiment that may have a key, and where: options of methods that are not in the
    file need a run by such a method.
    """
    if key in others.places:
        return others.values, others.places[key][0]
    section, _, option = key.partition(".methods.*.")
    name = next(name for name, one in methods().items() if option in one.options.model_fields)
    keys = (*section.replace("*", "main").split("."), "methods", "tried")
    entry = {"method": name, **({"evaluate": False} if section == "runs.*" else {})}
    values = with_value(others.values, Place(keys, None, None), entry)
    check_shape(values, keys[0])
    return values, Place((*keys, option), None, None)


def check_shape(values: dict[str, Any], section: str) -> None:
    """Read one section of an experiment; others count where runs need them."""
    names = ("experiment", "title", section, *(SWEPT if section == "runs" else ()))
    as_stated({name: values[name] for name in names if name in values})


@pytest.fixture(scope="module")
def others(tmp_path_factory) -> OtherValues:
    folder = tmp_path_factory.mktemp("every_key")
    make_every_key(folder)
    values = yaml.safe_load(Path(__file__).with_name("every_key.yaml").read_text(encoding="utf-8"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return OtherValues(values, validate(values))


@pytest.mark.parametrize("key", sorted(key for key in TYPES if not key.endswith(ANYTHING)))
def test_a_wrong_value_is_refused_by_its_key(others, key):
    values, place = place_of(others, key)
    wrong = wrong_values(key)
    assert wrong
    for value in wrong:
        try:
            check_shape(with_value(values, place, value), str(place.keys[0]))
        except RevocabError as error:
            named = [str(name) for name in place.keys[-2:]]
            assert any(name in problem for problem in error.problems for name in named), error
            assert all(len(problem) < 1000 for problem in error.problems), error
        else:
            raise AssertionError(f"{place.dotted}: {value!r} was accepted")


def test_the_schema_has_so_many_keys():
    assert sum(map(len, map(wrong_values, NUMBERS))) > 1000
    assert len(TYPES) > 500
