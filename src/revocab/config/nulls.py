"""What ``null`` means in an experiment file: an option's default, or that a thing goes away.

An overlay takes away what an earlier file gives (``runs: {llama: null}``, ``tables: {table05:
null}``, ``evaluation: {generation: null}``). Only ``recipe``, ``sweep`` and ``seeds`` of a run say
something themselves: not that of its group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from revocab.closed import Id
from revocab.config.schema import Experiment

#: Keys of a group or run of which null is a value.
SAID = ("recipe", "sweep", "seeds")

Path = tuple[str, ...]


def without_nulls(values: Any, *path: str) -> Any:
    """Return ``values`` without the keys that are null, but for :data:`SAID` of runs."""
    if isinstance(values, list):
        return [without_nulls(value, *path) for value in values]
    if not isinstance(values, dict):
        return values
    return {
        key: without_nulls(value, *path, str(key))
        for key, value in values.items()
        if value is not None or (path[:1] == ("runs",) and key in SAID)
    }


def nothing_taken_away(files: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Yield a problem for every thing that a file takes away and no file before it gives.

    ``files`` are names and contents in the order in which they are laid over one another.
    """
    given: set[Path] = set()
    for name, content in files:
        found = dict(_leaves(content))
        for path, value in found.items():
            if value is None and _stands_by_id(path[:-1]) and path not in given:
                yield (
                    f"{'.'.join(path)}: null in {name} removes it, but no earlier file sets it; "
                    "remove the line, or write {} for an entry with all defaults"
                )
        given |= {path[:end] for path in found for end in range(1, len(path) + 1)}


def _leaves(value: Any, *path: str) -> Iterator[tuple[Path, Any]]:
    """Yield the path and value of everything in nested mappings that is no mapping, or is empty."""
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _leaves(one, *path, str(key))
    else:
        yield path, value


def _stands_by_id(path: Path) -> bool:
    """Return whether things stand by id under a path."""
    patterns = (pattern.split(".") for pattern in id_maps())
    return any(
        len(pattern) == len(path)
        and all(part in ("*", key) for part, key in zip(pattern, path, strict=True))
        for pattern in patterns
    )


@cache
def id_maps() -> frozenset[str]:
    """Return the keys of an experiment under which things stand by id, ``*`` for any id."""
    return frozenset(_maps_of(Experiment))


def _maps_of(model: type[BaseModel], *path: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        kinds = [field.annotation]
        if get_origin(field.annotation) is not dict:
            kinds += get_args(field.annotation)  # of a union
        for one in kinds:
            here, inner = (*path, name), one
            if get_origin(one) is dict and get_args(one)[0] == Id:
                yield ".".join(here)
                here, inner = (*here, "*"), get_args(one)[1]
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from _maps_of(inner, *here)
