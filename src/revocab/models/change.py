"""What a change of a model is, and the registry that finds those in ``changes/``.

A change makes a model of one model, its body, and of others beside it. Config validation imports
this, so nothing here or at the top of a change's file imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from revocab.closed import Closed, Id, Job, ModelId, OneLine, RunStep, look_up
from revocab.models.folder import ModelFolder
from revocab.models.weights.files import Part
from revocab.registry import found_in

#: How an experiment names what a model is made of: a model, or a checkpoint of a run.
#: ``Plan.referred`` says where it lies.
ModelReference = Annotated[
    Annotated[ModelId, Tag("model")] | Annotated[RunStep, Tag("checkpoint")],
    Discriminator(lambda value: "model" if isinstance(value, str) else "checkpoint"),
]


def reference_name(reference: Id | RunStep) -> str:
    """Return what a reference is called among a change's inputs (ids hold no ``--``)."""
    if isinstance(reference, RunStep):
        return f"{reference.run}--{reference.step}"
    return reference


class ChangeOptions(Closed):
    """Base of a change's options: closed, so a misspelt option is an error."""

    def given_models(self) -> Iterator[tuple[str, ModelReference]]:
        yield from ()

    def problems(self, body: ModelReference | None) -> Iterator[str]:
        """Yield why the options make no sense, for such a body (None: it has no name)."""
        yield from ()

    def blocks_after(self, blocks: int) -> int:
        """Return how many blocks a body of so many blocks has after the change.

        Raises :class:`RevocabError` where such a body cannot be changed so.
        """
        return blocks

    def given(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)


class ChangeJob(Job):
    """A change and its options."""

    change: OneLine = Field(description="such as blocks; an unknown one lists them all")
    option: dict[str, Any] = Field(
        default_factory=dict,
        description="options, NAME=VALUE as in YAML; an unknown one lists them all",
    )


@dataclass(frozen=True)
class ChangeInputs:
    """The models behind a change; all of them whole and finite."""

    body: ModelFolder
    #: By :func:`reference_name` of what the options say.
    others: Mapping[str, ModelFolder]


@dataclass(frozen=True)
class Changed:
    """What becomes of the body. Documents and tokenizer stay its own, and so do other files."""

    #: Tensors of the weight files that are written anew, by file.
    files: dict[str, list[Part]]
    config: dict[str, Any]
    #: What the manifest says of the change.
    facts: dict[str, Any] = field(default_factory=dict)
    #: What its user should know, a sentence each: shown at once, and in the model card.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """One way to make a model from other models; ``apply(inputs, options)`` reads headers only."""

    name: str
    summary: str
    citation: str
    options: type[ChangeOptions]
    apply: Callable[[ChangeInputs, Any], Changed]


@cache
def changes() -> dict[str, Change]:
    from revocab.models import changes as package

    return found_in(package, "CHANGE")


def find_change(name: str) -> Change:
    return look_up("change", name, changes(), "change")
