"""Runs: methods applied to source models."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from revocab.closed import Closed, Id, OneLine
from revocab.initialise.fasttext import FastTextOptions
from revocab.initialise.options import ScaleOptions


class RunMethod(Closed):
    """One run of a group: the method (default: the run's own name), helper, and method options."""

    model_config = ConfigDict(extra="allow")

    method: Id | None = None
    helper: Id | None = None
    recipe: Id | None = None
    seed: int | None = None
    #: False for ablations of which only the losses are shown.
    evaluate: bool = True

    @property
    def options(self) -> dict[str, Any]:
        """Return the keys that belong to the method itself; null stands for the default."""
        return {key: value for key, value in (self.model_extra or {}).items() if value is not None}


class RunGroup(Closed):
    """Every method applied to one source model: a grid with ids ``<group>-<name>``."""

    label: OneLine
    source: Id
    target: Id
    helper: Id | None = None
    mixture: Id
    recipe: Id
    identity: Literal["bytes", "marker"] = "bytes"
    methods: dict[Id, RunMethod]


class AuxiliaryTraining(FastTextOptions):
    """fastText vectors, once per target tokenizer, for runs with ``auxiliary: fasttext``."""

    #: Best in both languages: one space then holds source and target tokens.
    corpora: list[Id] = Field(min_length=1)


class Scale(ScaleOptions):
    """Time and memory of every method at a real model's embedding shape, with random weights."""

    source_tokenizer: Id
    target_tokenizer: Id
    methods: dict[Id, RunMethod]
