"""Every id that an experiment refers to, and whether there is such a thing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from revocab.closed import Refers, unknown
from revocab.config.schema import Experiment
from revocab.training.recipe import Stage

#: The section that defines each kind of thing.
SECTIONS = {
    "corpus": "corpora",
    "tokenizer": "tokenizers",
    "model": "models",
    "mixture": "mixtures",
    "recipe": "recipes",
}
#: Where an id is used, the id, and the kind of thing that it should be.
Reference = tuple[str, str, str]


def check_references(experiment: Experiment) -> Iterator[str]:
    known = {what: getattr(experiment, section) for what, section in SECTIONS.items()}
    yield from dangling(references(experiment), known)


def dangling(used: Iterable[Reference], known: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield a problem for every reference to what is not there.

    Kinds of things of which ``known`` has no ids are left out.
    """
    for key, value, what in used:
        if what in known and value not in known[what]:
            yield unknown(key, value, known[what], what)


def references(experiment: Experiment) -> Iterator[Reference]:
    yield from _in_model(experiment, "")
    for name, tokenizer in experiment.tokenizers.items():
        built, options = tokenizer.construction()
        for option, mixture in options.given_mixtures():
            yield from ((f"tokenizers.{name}.{built}.{option}", one, "corpus") for one in mixture)
        for option, other in options.given_tokenizers():
            yield f"tokenizers.{name}.{built}.{option}", other, "tokenizer"


def _in_model(model: BaseModel, key: str) -> Iterator[Reference]:
    for name, field in type(model).model_fields.items():
        inner = f"{key}.{name}" if key else name
        kind: Any = field.annotation
        for metadata in field.metadata:
            kind = Annotated[kind, metadata]
        yield from _in_value(getattr(model, name, None), kind, inner)


def _in_value(value: Any, kind: Any, key: str) -> Iterator[Reference]:
    """Yield the references in a value of a type; those in a list have the key of the list."""
    inner = get_args(kind)
    if isinstance(value, BaseModel):
        yield from _in_model(value, key)
    elif get_origin(kind) is Annotated:
        if isinstance(value, str):
            yield from ((key, value, one.to) for one in inner if isinstance(one, Refers))
        yield from _in_value(value, inner[0], key)
    elif get_origin(kind) in (Union, UnionType):
        for one in inner:
            yield from _in_value(value, one, key)
    elif isinstance(value, list | tuple) and inner:
        for number, one in enumerate(value):
            name = one.name if isinstance(one, Stage) else number
            place = f"{key}.{name}" if isinstance(one, BaseModel) else key
            yield from _in_value(one, inner[0], place)
    elif isinstance(value, dict) and inner:
        for name, one in value.items():
            yield from _in_value(name, inner[0], key)
            yield from _in_value(one, inner[1], f"{key}.{name}")
