"""What a way of building a tokenizer is, and the registry that finds those in ``constructions/``.

Config validation imports this, so nothing here or at the top of a construction's file imports the
tokenizer libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, create_model, model_validator

from revocab.closed import Closed, Id, Job, OfKinds, OneLine
from revocab.extensions import found_in
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.limits import Bytes, Share, Size
from revocab.vocabulary.building.training_text import TrainingText

#: What a tokenizer may be built of, beside options: the types of these keys in an experiment file,
#: and what they mean.
INPUTS: dict[str, tuple[Any, str]] = {
    "base": (str, "tokenizer that is changed"),
    "corpora": (
        dict[str, Share],
        "text that tokens are learned from or, with a donor, counted in; shares of bytes",
    ),
    "count_corpora": (
        dict[str, Share],
        "text in which the base's tokens are counted; default: corpora",
    ),
    "donor": (
        str,
        "a tokenizer whose most frequent tokens are added; none: they are learned on top of the "
        "base",
    ),
    "chat": (str, "the tokenizer of an instruction-tuned model"),
    "template": (
        OneLine,
        "a chat template: a Jinja file that marks answers, or the name of one of the package",
    ),
    "path": (str, "folder or file"),
}
#: How a job calls the shares of its corpora, which have a folder each.
SHARES = {"corpora": "shares", "count_corpora": "count_shares"}


class ConstructionOptions(Closed):
    """Base of a construction's options.

    What it is built of beside is named by an experiment file and given to a command: corpora with
    their shares of bytes (``mixtures``), other ``tokenizers``, a path (``folders``), and a chat
    template, a file or a name (``templates``). It cannot do without those that it ``needs``.
    """

    mixtures: ClassVar[tuple[str, ...]] = ()
    tokenizers: ClassVar[tuple[str, ...]] = ()
    folders: ClassVar[tuple[str, ...]] = ()
    templates: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def inputs(cls) -> tuple[str, ...]:
        return (*cls.mixtures, *cls.tokenizers, *cls.folders, *cls.templates)

    def conflict(self, inputs: Collection[str]) -> str | None:
        """Return why the options do not go with the inputs that are given; None where they do."""
        return None


class ChangeOptions(ConstructionOptions):
    """What every construction that changes a base has."""

    mixtures: ClassVar[tuple[str, ...]] = ("corpora",)
    tokenizers: ClassVar[tuple[str, ...]] = ("base", "donor")
    needs: ClassVar[tuple[str, ...]] = ("base", "corpora")

    limit_bytes: Bytes | None = Field(
        default=None, description="use at most this much text of each mixture"
    )
    donor_top: Size | None = Field(
        default=None,
        description="look only at this many of the donor's tokens, the most frequent ones",
    )

    def conflict(self, inputs: Collection[str]) -> str | None:
        alone = self.donor_top is not None and "donor" not in inputs
        return "donor_top needs a donor" if alone else None


class DropOptions(ChangeOptions):
    """Those of a construction that drops tokens of the base as well."""

    mixtures: ClassVar[tuple[str, ...]] = ("corpora", "count_corpora")


class ConstructionEntry(ConstructionOptions):
    """What an experiment file says of a tokenizer that is built: options, and inputs by name."""

    def named(self, keys: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name in keys if (value := getattr(self, name)) is not None)

    @model_validator(mode="after")
    def _go_together(self) -> ConstructionEntry:
        if conflict := self.conflict(dict(self.named(self.inputs()))):
            raise ValueError(conflict)
        return self


@dataclass(frozen=True)
class BuildInputs:
    """What a tokenizer is built of, by name."""

    mixtures: dict[str, list[TrainingText]] = field(default_factory=dict)
    tokenizers: dict[str, PreTrainedTokenizerFast] = field(default_factory=dict)
    #: Where the tokenizers were loaded from, and further folders and files.
    places: dict[str, Path] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        return {*self.mixtures, *self.tokenizers, *self.places}

    def recorded(self, job: TokenizerJob, *, nulls: bool = True) -> dict[str, Any]:
        """Return the options as a manifest has them, with the shares and names of the inputs."""
        record: dict[str, Any] = dict.fromkeys((*job.tokenizers, *job.mixtures))
        for name in self.tokenizers:
            record[name] = self.places[name].resolve().name
        for name, mixture in self.mixtures.items():
            record[name] = {part.corpus: part.share for part in mixture}
        record |= job.own_options()
        return {key: value for key, value in record.items() if nulls or value is not None}


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

    @cached_property
    def entry(self) -> type[ConstructionEntry]:
        fields: dict[str, Any] = {}
        for name in self.options.inputs():
            kind, about = INPUTS[name]
            needed = name in self.options.needs
            default = Field(description=about) if needed else Field(None, description=about)
            fields[name] = (kind if needed else kind | None, default)
        bases: Any = (ConstructionEntry, self.options)
        return create_model(
            self.options.__name__, __base__=bases, __doc__=self.options.__doc__, **fields
        )


class TokenizerJob(ConstructionOptions, OfKinds, Job):
    """A construction with its options."""

    named_by: ClassVar[str] = "construction"

    construction: Id
    shares: dict[Id, Share] = Field(
        default_factory=dict,
        exclude_if=lambda shares: not shares,
        description="share of each corpus in the bytes; not needed where there is one",
    )
    count_shares: dict[Id, Share] = Field(
        default_factory=dict,
        exclude_if=lambda shares: not shares,
        description="the same of the corpora in which the base's tokens are counted",
    )

    @classmethod
    def kinds(cls) -> dict[str, Construction]:
        return constructions()


@cache
def constructions() -> dict[str, Construction]:
    from revocab.vocabulary.building import constructions as package

    return found_in(package, "CONSTRUCTION")
