"""Sweeps: what a group or run varies. A file that is read has the runs in their place."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError, field_validator

from revocab.closed import Closed, Id, OneLine
from revocab.limits import Tokens

#: Values that are their own names: ids, and whole numbers.
OWN_NAMES = TypeAdapter(list[Id | Annotated[int, Field(ge=0, strict=True)]])


class Axis(Closed):
    """One thing that a sweep varies."""

    #: A key of a run (``target``, ``mixture``, ``recipe``, an option of its method); an option of
    #: its recipe (``recipe.learning_rate``, ``recipe.stages.<name>.learning_rate``).
    set: OneLine
    #: By name, which becomes part of ids; a list where values are ids or whole numbers.
    values: dict[Id, Any] = Field(min_length=1)

    @field_validator("values", mode="before")
    @classmethod
    def _named(cls, values: Any) -> Any:
        if not isinstance(values, list):
            return values
        try:
            listed = OWN_NAMES.validate_python(values)
        except ValidationError:
            raise ValueError(
                "a list may hold ids and whole numbers, which name themselves; give other values "
                "names: {low: 1.0e-4, high: 3.0e-4}"
            ) from None
        if len(set(map(str, listed))) < len(listed):
            raise ValueError("a value is given twice; give each once")
        return {str(value): value for value in listed}


class Sweep(Closed):
    """Every combination of the values of some axes."""

    axes: dict[Id, Axis] = Field(min_length=1)
    #: Tokens of one corpus that every run sees: its steps are those tokens over the corpus' share.
    hold: dict[Id, Tokens] = Field(default_factory=dict, max_length=1)
