"""What every part of an experiment file is made of: closed models, ids, steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

#: Ids become file names, wildcards and labels: no shell or path character, and no "--",
#: which joins ids in file names.
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$")]
#: Free text that ends up as one argument of a command line: quoted there, and one line.
Line = Annotated[str, StringConstraints(pattern=r"^[^\n\r\x00]*$", min_length=1)]
Step = Literal["first", "last"] | Annotated[int, Field(ge=0)]


class Closed(BaseModel):
    """Unknown keys are errors; values do not change after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def exactly_one(value: Any, keys: tuple[str, ...]) -> Any:
    """Return ``value`` if exactly one of its ``keys`` is set; else raise ``ValueError``."""
    given = [key for key in keys if getattr(value, key) is not None]
    if len(given) != 1:
        raise ValueError(
            f"exactly one of {', '.join(keys)} must be given, received {', '.join(given) or 'none'}"
        )
    return value
