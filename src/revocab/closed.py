"""Closed models: what every option, job and experiment file is made of, and how they complain."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterator
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from revocab.errors import RevocabError

#: Ids become file names, wildcards and labels: no shell or path character, and no "--",
#: which joins ids in file names.
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$")]
#: Free text on one line.
OneLine = Annotated[str, StringConstraints(pattern=r"^[^\n\r\x00]*$", min_length=1)]
#: Names of checkpoints by their place among those of a run.
PLACES = ("first", "last")
#: A checkpoint: its number (0 is the model before training), its place, or the stage that it ends.
Step = Annotated[int, Field(ge=0)] | Id


class Closed(BaseModel):
    """Unknown keys are errors; values do not change after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Job(Closed):
    """What decides the output of a command beside its input files: settings, ids, seeds.

    It holds nothing of a machine (paths, threads, devices) and nothing that only labels a result,
    so that Snakemake reruns a rule exactly when its job changes.
    """

    def canonical(self) -> str:
        """Return the job as JSON with every default: equal jobs give equal text."""
        # Mappings keep their order, which may decide a result (that of corpora in a mixture does).
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))


def exactly_one(value: Any, keys: tuple[str, ...]) -> Any:
    """Return ``value`` if exactly one of its ``keys`` is set; else raise ``ValueError``."""
    given = [key for key in keys if getattr(value, key) is not None]
    if len(given) != 1:
        raise ValueError(
            f"exactly one of {', '.join(keys)} must be given, received {', '.join(given) or 'none'}"
        )
    return value


def near(value: Any, allowed: Collection[str]) -> str:
    """Return the hint at the nearest allowed name, or nothing."""
    found = difflib.get_close_matches(str(value), sorted(allowed), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def unknown(key: str, value: str, allowed: Collection[str], what: str) -> str:
    """Return the line for an id that is not there, with the nearest ones that are."""
    known = ", ".join(sorted(allowed)) or "none"
    return f"{key}: no {what} {value!r} (known: {known}){near(value, allowed)}"


def allowed_keys(model: Any, location: tuple[Any, ...]) -> list[str]:
    """Return the keys allowed at ``location`` below ``model``, as far as its types tell."""
    for part in location:
        if isinstance(model, type) and issubclass(model, BaseModel):
            field = model.model_fields.get(str(part))
            model = field.annotation if field else None
        else:
            # dict[Id, X] and list[X]: the part is a name or an index, X says what is allowed there.
            model = (get_args(model) or (None,))[-1]
        members = [one for one in get_args(model) if one is not type(None)]
        if type(None) in get_args(model) and len(members) == 1:
            model = members[0]
    return sorted(getattr(model, "model_fields", ()))


def problems_of(error: ValidationError, model: Any, prefix: str = "") -> Iterator[str]:
    """Yield the problems of a pydantic error on ``model``: key, what is wrong, value received."""
    for one in error.errors(include_url=False):
        key = ".".join(str(part) for part in (prefix, *one["loc"]) if part != "")
        if one["type"] == "extra_forbidden":
            allowed = allowed_keys(model, one["loc"][:-1])
            listed = f" (allowed: {', '.join(allowed)})" if allowed else ""
            yield f"{key}: unknown key{listed}{near(one['loc'][-1], allowed)}"
        elif one["type"] == "missing":
            yield f"{key}: required and not given"
        else:
            message = one["msg"].removeprefix("Value error, ")
            received = "" if isinstance(one["input"], dict) else f", received {one['input']!r}"
            yield f"{key}: {message}{received}" if key else f"{message}{received}"


def checked(model: type[BaseModel], values: Any, prefix: str = "") -> Any:
    """Return ``values`` (a mapping, or JSON text) as a ``model``.

    Raises :class:`RevocabError` naming every key that is wrong, below ``prefix``.
    """
    try:
        if isinstance(values, str):
            return model.model_validate_json(values)
        return model.model_validate(values)
    except ValidationError as error:
        raise RevocabError(problems_of(error, model, prefix)) from None
