"""Models and how they are trained."""

from __future__ import annotations

from pydantic import Field, model_validator

from revocab.closed import Closed, Id, OneLine, exactly_one
from revocab.models.parameters import Architecture


class Pretraining(Closed):
    """A stand-in model pretrained here."""

    architecture: Architecture
    mixture: Id
    recipe: Id
    context_length: int = Field(default=2048, ge=16, description="positions of the model")


class Model(Closed):
    """A causal language model: from the Hub, from a folder, or pretrained here."""

    tokenizer: Id
    hub: OneLine | None = None
    revision: OneLine | None = None
    path: OneLine | None = None
    pretrain: Pretraining | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Model:
        return exactly_one(self, ("hub", "path", "pretrain"))
