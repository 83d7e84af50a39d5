"""What a change of a model is, and the registry that finds those in ``changes/``.

A change makes a model of one model, its body. Config validation imports
this, so nothing here or at the top of a change's file imports torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import Discriminator, Tag

from revocab.closed import Closed, Id, Job, ModelId, OfKinds, RunStep
from revocab.extensions import found_in
from revocab.models.folder import ModelFolder
from revocab.models.weights.files import Part

#: How an experiment names what a model is made of: a model, or a checkpoint of a run.
#: ``Plan.referred`` says where it lies.
ModelReference = Annotated[
    Annotated[ModelId, Tag("model")] | Annotated[RunStep, Tag("checkpoint")],
    Discriminator(lambda value: "model" if isinstance(value, str) else "checkpoint"),
]


class ChangeOptions(Closed):
    """Base of a change's options: closed, so a misspelt option is an error."""

    def blocks_after(self, blocks: int) -> int:
        """Return how many blocks a body of so many blocks has after the change.

        Raises :class:`RevocabError` where such a body cannot be changed so.
        """
        return blocks


class ChangeJob(ChangeOptions, OfKinds, Job):
    """A change with its options."""

    named_by: ClassVar[str] = "change"

    change: Id

    @classmethod
    def kinds(cls) -> dict[str, Change]:
        return changes()


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
    """One way to make a model of another; ``apply(body, options)`` reads headers only.

    The body is whole and finite.
    """

    name: str
    summary: str
    citation: str
    options: type[ChangeOptions]
    apply: Callable[[ModelFolder, Any], Changed]


@cache
def changes() -> dict[str, Change]:
    from revocab.models import changes as package

    return found_in(package, "CHANGE")
