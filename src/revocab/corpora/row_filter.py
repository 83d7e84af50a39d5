"""Which rows of a source are used: conditions on their fields, such as a score of their quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field, StrictBool, StrictInt, StrictStr, model_validator

from revocab.closed import Closed
from revocab.errors import RevocabError


class Condition(Closed):
    """What the value of one field must be; a row without a value stays."""

    min: float | None = Field(default=None, description="at least this number")
    max: float | None = Field(default=None, description="at most this number")
    one_of: tuple[StrictBool | StrictInt | StrictStr, ...] | None = Field(
        default=None, min_length=1, description="one of these values"
    )

    @model_validator(mode="after")
    def _says_something(self) -> Condition:
        if self.min is None and self.max is None and self.one_of is None:
            raise ValueError("says nothing; give min, max or one_of")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}, so no row is used")
        return self

    @property
    def compares(self) -> bool:
        return self.min is not None or self.max is not None

    def holds(self, value: Any) -> bool:
        return (
            (self.min is None or value >= self.min)
            and (self.max is None or value <= self.max)
            and (self.one_of is None or value in self.one_of)
        )


@dataclass
class RowFilter:
    """The conditions on the rows of a source, and how many rows they leave out."""

    conditions: Mapping[str, Condition]
    skipped: int = field(default=0, init=False)
    #: Fields that a row had, and those of the first row.
    seen: set[str] = field(default_factory=set, init=False)
    fields: list[str] = field(default_factory=list, init=False)

    def keeps(self, row: Any, where: str) -> bool:
        """Return whether all conditions hold of a row; raise :class:`RevocabError` for a value
        that has no order.
        """
        if not self.conditions or not isinstance(row, dict):
            return True
        self.fields = self.fields or sorted(map(str, row))
        self.seen |= {*row} & {*self.conditions}
        kept = all(
            self._holds(name, condition, row.get(name), where)
            for name, condition in self.conditions.items()
        )
        self.skipped += not kept
        return kept

    def _holds(self, name: str, condition: Condition, value: Any, where: str) -> bool:
        if value is None:
            return True
        if condition.compares and not isinstance(value, int | float):
            raise RevocabError(
                f"{where}, field {name!r}: a {type(value).__name__}, expected a number for min and"
                f" max (config: keep.{name}); for text give one_of"
            )
        return condition.holds(value)

    def check(self, label: str) -> None:
        """Raise :class:`RevocabError` for fields that no row has had: they are misspelt."""
        unknown = sorted({*self.conditions} - self.seen)
        if unknown and self.fields:
            raise RevocabError(
                f"{label}: no row has a field {name!r}; fields found: {', '.join(self.fields)}"
                f" (config: keep.{name})"
                for name in unknown
            )
