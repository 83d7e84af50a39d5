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


class Recipe(Closed):
    """How training goes. ``weight_decay`` in torch's AdamW convention (docs/deviations.md)."""

    sequence_length: int = Field(ge=8)
    batch_size: int = Field(ge=1, description="sequences per step, over all devices")
    steps: int = Field(ge=1)
    warmup_steps: int = Field(default=0, ge=0)
    learning_rate: float = Field(gt=0)
    schedule: Literal["constant", "cosine"] = "cosine"
    final_learning_rate_share: float = Field(default=0.1, ge=0, le=1)
    adam_beta1: float = Field(default=0.9, ge=0, lt=1)
    adam_beta2: float = Field(default=0.95, ge=0, lt=1)
    adam_epsilon: float = Field(default=1e-8, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    gradient_clip: float = Field(default=1.0, gt=0)
    checkpoint_every: int = Field(ge=1)
    precision: Literal["float32", "bfloat16"] = "float32"
    document_start: bool = Field(default=True, description="put bos before each document")
    document_end: bool = Field(default=False, description="put eos after each document")
    repeat_corpora: bool = Field(default=False, description="start a corpus again when it ends")


class ParameterCount(Closed):
    """One row of Table 1, counted on the meta device."""

    label: Line
    vocabulary_size: int
    architecture: Architecture
