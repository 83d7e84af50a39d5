"""Every number of an experiment file, as the schema has it, refuses what is no such number.

A key that is added is tried without a line here. What the key's message must name is the key.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from other_values import OtherValues, Place, members, places
from planning import Finished

from revocab.config import Experiment, validate
from revocab.errors import RevocabError
from revocab.initialise.method import methods

NUMBERS = {
    key: kinds
    for key, kinds in (
        (key, {*members(place.kind)} & {int, float}) for key, place in places(Experiment, None)
    )
    if kinds
}
HUGE, INFINITE = 10**30, (math.inf, -math.inf, math.nan)
#: What no number of a kind may be, beside what is no number.
WRONG = {int: (-1, 1.5, HUGE, *INFINITE), float: (-0.5, float(HUGE), *INFINITE)}
NO_NUMBERS = (True, False, "017x", [], {})
#: Numbers without a sign of their own: what rows hold, what claims ask, what models weigh.
SIGNED = ("keep.*.min", "keep.*.max", "at_least", "at_most", "weights.*", "sum.add.*.weight")
#: Of these, what has no ceiling.
UNBOUNDED = SIGNED[:4]


def wrong_values(key: str, kinds: set[type]) -> list[Any]:
    """Return what a key must refuse. Where an id may stand, text is one."""
    values = [value for kind in kinds for value in WRONG[kind]]
    if key.endswith(SIGNED):
        values = [value for value in values if value != -0.5]
    if key.endswith(UNBOUNDED):
        values = [value for value in values if value != float(HUGE)]
    ids = key.endswith("step")
    return [
        *values,
        *(value for value in NO_NUMBERS if not (ids and isinstance(value, bool | str))),
    ]


def with_value(values: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    """Return an experiment with another value in one place, and mappings down to it."""
    changed = copy.deepcopy(values)
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
    validate(values)
    return values, Place((*keys, option), None, None)


@pytest.fixture(scope="module")
def others(finished: Finished) -> OtherValues:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(finished.folder)
        return OtherValues(finished.values, validate(finished.values))


@pytest.mark.parametrize("key", sorted(NUMBERS))
def test_a_wrong_number_is_refused_by_its_key(others, finished, monkeypatch, key):
    monkeypatch.chdir(finished.folder)
    values, place = place_of(others, key)
    for value in wrong_values(key, NUMBERS[key]):
        try:
            validate(with_value(values, place, value))
        except RevocabError as error:
            named = [str(name) for name in place.keys[-2:]]
            assert any(name in problem for problem in error.problems for name in named), error
            assert all(len(problem) < 1000 for problem in error.problems), error
        else:
            raise AssertionError(f"{place.dotted}: {value!r} was accepted")


def test_the_schema_has_so_many_numbers():
    assert sum(len(wrong_values(key, kinds)) for key, kinds in NUMBERS.items()) > 1000
