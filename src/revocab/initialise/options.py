"""Find a method by name and check its options, with messages a user can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from revocab.closed import Closed, Id, Job, OneLine, near
from revocab.errors import RevocabError
from revocab.initialise.method import Method, MethodOptions, methods
from revocab.intersection.match import Identity


class ChosenMethod(Closed):
    """A method and its options, as words of a command line or a job's text give them."""

    method: OneLine = Field(description="such as sava; an unknown one lists them all")
    option: dict[str, Any] = Field(
        default_factory=dict,
        description="options of the method, NAME=VALUE as in YAML; an unknown one lists them all",
    )

    def options(self) -> MethodOptions:
        """Return the method's own options; raise :class:`RevocabError` for what is wrong."""
        return check_options(find_method(self.method), self.option)


class InitJob(ChosenMethod, Job):
    """A method with its options, and what else decides the new rows."""

    identity: Identity = Field(
        default="bytes", description="when two tokens count as the same (docs/vocabulary.md)"
    )
    seed: int = Field(default=0, description="seed of random draws")
    languages: list[Id] = Field(
        default_factory=list, description="languages of the model, such as it en, for its card"
    )


class ScaleOptions(Closed):
    """Widths of the matrices."""

    hidden_size: int = Field(default=4096, ge=1, description="width of the source")
    helper_hidden_size: int = Field(default=2560, ge=1)


class ScaleJob(ScaleOptions, Job):
    """Methods to measure, by the name of their row."""

    methods: dict[Id, ChosenMethod]
    identity: Identity = "bytes"
    seed: int


def find_method(name: str) -> Method:
    """Return the method of that name; raise :class:`RevocabError` listing all if there is none."""
    if name not in methods():
        raise RevocabError(
            f"method {name!r}: unknown; allowed are {', '.join(methods())}{near(name, methods())}"
        )
    return methods()[name]


def check_options(method: Method, given: Mapping[str, Any]) -> MethodOptions:
    """Return the method's options; raise :class:`RevocabError` naming each one that is wrong."""
    try:
        return method.options(**given)
    except ValidationError as error:
        known = ", ".join(method.options.model_fields) or "none"
        raise RevocabError(
            f"method {method.name!r}, option {'.'.join(map(str, one['loc']))} = "
            f"{one['input']!r}: {one['msg'].lower()}; options are: {known}"
            for one in error.errors()
        ) from None
