"""What can be told of a file that does not fit the schema, beside that it does not.

Nothing may be told that is wrong only because of a misfit. So ids may dangle that whatever fits
refers to, where no entry has that name, whether it fits or not. Every other check is heard until it
looks at a section that does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from revocab.closed import Id, OneLine, located, nearest
from revocab.config.check_references import SECTIONS, dangling, references
from revocab.config.checks import CHECKS, check_mixtures
from revocab.config.schema import Experiment

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class Misfit(Exception):
    """A check looked at a section that does not fit."""


class FittingPart(Experiment):
    """What of an experiment fits. A section that was taken out of it raises :class:`Misfit`."""

    experiment: Id = "misfit"
    title: OneLine = "misfit"

    if not TYPE_CHECKING:  # it would hide misspelt names from the checker

        def __getattr__(self, name: str) -> Any:
            if name in type(self).model_fields:
                raise Misfit(name)
            return super().__getattr__(name)


def problems_beside(values: dict[str, Any], error: ValidationError) -> Iterator[str]:
    """Yield the problems of a file beside those of ``error``, with which it misfits the schema."""
    meant = [place for one in error.errors(include_url=False) for place in meant_place(one)]
    misspelt = {place[0] for place in meant if len(place) == 1}
    ids = {what: values.get(section, {}) for what, section in SECTIONS.items()}
    named = {
        what: given
        for what, given in ids.items()
        if isinstance(given, dict) and SECTIONS[what] not in misspelt
    }
    part, misfits = fitting(values, error)
    yield from dangling(references(part), named)
    right = {
        section: {
            name: entry
            for name, entry in getattr(part, section).items()
            if not {(section,), (section, name)} & misfits
        }
        for section in ("mixtures", "tokenizers")
    }
    yield from check_mixtures(part.model_copy(update=right))
    whole = part.model_copy()
    for section in {place[0] for place in (*misfits, *meant)}:
        vars(whole).pop(section, None)
    for check in CHECKS:
        with suppress(Misfit):
            yield from check(whole)


def meant_place(error: ErrorDetails) -> Iterator[tuple[str, ...]]:
    """Yield the place that an unknown key may be a misspelling of."""
    if error["type"] == "extra_forbidden":
        keys, there = located(Experiment, error["loc"][:-1])
        found = nearest(error["loc"][-1], getattr(there, "model_fields", ()))
        if found:
            yield (*keys, found)


def fitting(
    values: dict[str, Any], error: ValidationError
) -> tuple[FittingPart, set[tuple[str, ...]]]:
    """Return what of ``values`` fits the schema, and the sections and entries that do not.

    ``error`` tells what does not. An unknown key is left out, and is no misfit of its section.
    """
    left, misfits = values, set[tuple[str, ...]]()
    while True:
        errors = error.errors(include_url=False)
        wrong = [one["loc"] for one in errors if one["type"] != "extra_forbidden"]
        misfits |= {tuple(map(str, place[:2])) for place in wrong}
        less = without(left, [located(Experiment, one["loc"])[0] for one in errors])
        try:
            return FittingPart.model_validate(less), misfits
        except ValidationError as another:
            if less == left:
                raise  # nothing more can be left out
            left, error = less, another


def without(value: Any, places: Sequence[Sequence[str]]) -> Any:
    """Return a mapping or list without the last thing that there is on the way to each place."""
    kept = {}
    for key, one in parts(value):
        below = [place[1:] for place in places if place and place[0] == str(key)]
        if all(place and place[0] in [str(name) for name, _ in parts(one)] for place in below):
            kept[key] = without(one, below) if below else one
    return kept if isinstance(value, dict) else list(kept.values())


def parts(value: Any) -> list[tuple[Any, Any]]:
    """Return the keys or numbers and the values of a mapping or list; of all else, none."""
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []
