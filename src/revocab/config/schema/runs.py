"""Runs: methods applied to source models."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

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


class Scale(Closed):
    """Time and memory of every method at a real model's embedding shape, with random weights."""

    source_tokenizer: Id
    target_tokenizer: Id
    hidden_size: int = 4096
    helper_hidden_size: int = 2560
    methods: dict[Id, RunMethod]
