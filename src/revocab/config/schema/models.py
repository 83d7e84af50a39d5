"""Models and how they are trained."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from revocab.config.schema.base import Closed, Id, Line, exactly_one


class Architecture(Closed):
    """The shape of a decoder-only model."""

    family: Literal["mistral", "llama"]
    hidden_size: int = Field(ge=8)
    intermediate_size: int = Field(ge=8)
    layers: int = Field(ge=1)
    heads: int = Field(ge=1)
    kv_heads: int = Field(ge=1)
    tied: bool = False


class Pretraining(Closed):
    """A stand-in model pretrained here."""

    architecture: Architecture
    mixture: Id
    recipe: Id


class Model(Closed):
    """A causal language model: from the Hub, from a folder, or pretrained here."""

    tokenizer: Id
    hub: Line | None = None
    revision: Line | None = None
    path: Line | None = None
    pretrain: Pretraining | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Model:
        return exactly_one(self, ("hub", "path", "pretrain"))


class ParameterCount(Closed):
    """One row of Table 1, counted on the meta device."""

    label: Line
    vocabulary_size: int
    architecture: Architecture
