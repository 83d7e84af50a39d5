"""Runs: methods applied to source models."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from revocab.config.schema.base import Closed, Id, Line


class RunMethod(BaseModel):
    """One run of a group: the method (default: the run's own name), helper, and method options."""

    model_config = ConfigDict(extra="allow", frozen=True)

    method: Id | None = None
    helper: Id | None = None
    recipe: Id | None = None
    seed: int | None = None
    #: False for ablations of which only the losses are shown.
    evaluate: bool = True

    @property
    def options(self) -> dict[str, Any]:
        """Return the keys that belong to the method itself."""
        return dict(self.model_extra or {})


class RunGroup(Closed):
    """Every method applied to one source model: a grid with ids ``<group>-<name>``."""

    label: Line
    source: Id
    target: Id
    helper: Id | None = None
    mixture: Id
    recipe: Id
    identity: Literal["bytes", "marker"] = "bytes"
    methods: dict[Id, RunMethod]


class AuxiliaryTraining(Closed):
    """fastText vectors, trained once per target tokenizer, for runs with ``auxiliary: fasttext``.

    The defaults are those of FOCUS and fastText.
    """

    #: Best in both languages: one space then holds source and target tokens.
    corpora: list[Id] = Field(min_length=1)
    dimension: int = Field(default=100, ge=2)
    epochs: int = Field(default=3, ge=1)
    min_count: int = Field(default=10, ge=1, description="rarer tokens have no vector of their own")
    buckets: int = Field(default=2_000_000, ge=1, description="hash buckets of the n-grams")
    limit_documents: int | None = Field(default=None, ge=1, description="of each corpus")
    limit_bytes: int | None = Field(default=None, ge=1, description="of each corpus")


class Scale(Closed):
    """Time and memory of every method at a real model's embedding shape, with random weights."""

    source_tokenizer: Id
    target_tokenizer: Id
    hidden_size: int = 4096
    helper_hidden_size: int = 2560
    methods: dict[Id, RunMethod]
