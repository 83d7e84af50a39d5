"""What a way of building a tokenizer is, and the registry that finds those in ``constructions/``.

Config validation imports this, so nothing here or at the top of a construction's file imports the
tokenizer libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, model_validator

from revocab.closed import Closed, Job, OneLine, look_up
from revocab.extensions import found_in
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.limits import Bytes, Share, Size
from revocab.tokenizer_building.training_text import TrainingText


class ConstructionOptions(Closed):
    """Base of a construction's options.

    ``mixtures`` names the options that hold corpora with their shares of bytes, ``tokenizers``
    those that hold the id of another tokenizer, ``folders`` those that hold a path, ``templates``
    those that hold a chat template, a file or a name; all are inputs of the build, None where not
    given.
    """

    mixtures: ClassVar[tuple[str, ...]] = ()
    tokenizers: ClassVar[tuple[str, ...]] = ()
    folders: ClassVar[tuple[str, ...]] = ()
    templates: ClassVar[tuple[str, ...]] = ()

    def named(self, options: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name in options if (value := getattr(self, name)) is not None)

    def given(self) -> dict[str, Any]:
        """Return the options that are given, without files and folders: what a job holds."""
        files = {*self.folders, *self.templates}
        return self.model_dump(mode="json", exclude=files, exclude_none=True)


class ChangeOptions(ConstructionOptions):
    """What every construction that changes a base has: the base, and where new tokens come from."""

    mixtures: ClassVar[tuple[str, ...]] = ("corpora",)
    tokenizers: ClassVar[tuple[str, ...]] = ("base", "donor")

    #: Tokenizer that is changed.
    base: str
    #: Text that new tokens are learned from or, with a donor, counted in; shares of bytes.
    corpora: dict[str, Share]
    #: Use at most this much text of each mixture.
    limit_bytes: Bytes | None = None
    #: A tokenizer whose most frequent tokens are added; none: they are learned on top of the base.
    donor: str | None = None
    #: Look only at this many of the donor's tokens, the most frequent ones.
    donor_top: Size | None = None

    @model_validator(mode="after")
    def _top_of_a_donor(self) -> ChangeOptions:
        if self.donor is None and self.donor_top is not None:
            raise ValueError("donor_top needs a donor")
        return self


class DropOptions(ChangeOptions):
    """Those of a construction that drops tokens of the base as well."""

    mixtures: ClassVar[tuple[str, ...]] = ("corpora", "count_corpora")

    #: Text in which the base's tokens are counted; none given: ``corpora``.
    count_corpora: dict[str, Share] | None = None


class TokenizerJob(Job):
    """A construction and its options."""

    construction: OneLine = Field(
        description="train, substitute, extend, replace, optimise, trim or adopt"
    )
    option: dict[str, Any] = Field(
        default_factory=dict,
        description="options, NAME=VALUE as in YAML; an unknown one lists them all",
    )


@dataclass(frozen=True)
class BuildInputs:
    """The files behind a construction's options, by option name."""

    mixtures: dict[str, list[TrainingText]] = field(default_factory=dict)
    tokenizers: dict[str, PreTrainedTokenizerFast] = field(default_factory=dict)
    #: Where the tokenizers were loaded from.
    tokenizer_folders: tuple[Path, ...] = ()

    @property
    def folders(self) -> list[Path]:
        corpora = [part.folder for mixture in self.mixtures.values() for part in mixture]
        return [*corpora, *self.tokenizer_folders]


@dataclass(frozen=True)
class Built:
    """A tokenizer, what its manifest says of how it came about, and lists too long for that."""

    tokenizer: PreTrainedTokenizerFast
    facts: dict[str, Any]
    #: Written beside the tokenizer as ``changes.json``: tokens added and dropped.
    changes: dict[str, Any] | None = None


@dataclass(frozen=True)
class Construction:
    """One way to build a tokenizer: ``build(inputs, options)`` returns a :class:`Built`."""

    name: str
    summary: str
    citation: str
    options: type[ConstructionOptions]
    build: Callable[[BuildInputs, Any], Built]


@cache
def constructions() -> dict[str, Construction]:
    from revocab.tokenizer_building import constructions as package

    return found_in(package, "CONSTRUCTION")


def find_construction(name: str) -> Construction:
    return look_up("construction", name, constructions(), "construction")
