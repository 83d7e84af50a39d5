"""A stage of a recipe: what is trained in it, at which rates, for how long."""

from __future__ import annotations

import re
from typing import Any

from pydantic import Field, field_validator, model_validator

from revocab import limits
from revocab.closed import Closed, Id, MixtureId, OneLine
from revocab.training.adapters.lora import LORA, Lora
from revocab.training.budgets import Schedule, learning_rate_factor

#: What ``train`` of a stage calls embedding and head, tables per layer included.
EMBEDDINGS = "embeddings"
#: The rows of these that are no copies of a source row.
NEW_ROWS = "new_rows"
#: Parts that have all rows of a matrix, besides patterns.
WHOLE_MATRICES = ("all", EMBEDDINGS, "input_embeddings", "output_embeddings")
#: The order in which manifests list what a stage says.
DESCRIBED = (
    "name", "steps", "learning_rate", "train", "warmup_steps", "schedule",
    "final_learning_rate_share", "weight_decay", "groups", "lora", "adapter",
)  # fmt: skip


class GroupRates(Closed):
    """What one group of parameters has of its own within a stage."""

    #: In place of the stage's.
    learning_rate: limits.Rate | None = None
    #: In place of the stage's.
    weight_decay: limits.Decay | None = None


class VocabularyAdapters(Closed):
    """How the matrices ``A`` of ``E_new = A E_source`` are trained, in place of embeddings."""

    auxiliary: limits.NotNegative = Field(
        default=0.0,
        description="weight of the loss that keeps rows of shared tokens near the source's",
    )
    shared: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="one matrix A for embedding and head, also of a model whose head is its own",
    )


class Stage(Closed):
    """A part of a recipe with its own parameters, rates and schedule; AdamW starts it afresh."""

    #: Also that of the checkpoint at its end.
    name: Id
    #: ``all``, ``embeddings`` (input, tables per layer and head), ``input_embeddings``,
    #: ``output_embeddings``, ``new_rows`` (of embeddings: those that no source row was copied to,
    #: without weight decay), ``attention``, ``mlp``, ``norms``, ``added_blocks`` (those of block
    #: expansion), ``lora`` (the adapter of this stage, which ``lora`` describes), or regular
    #: expressions searched in parameter names.
    train: list[OneLine] = Field(default=["all"], min_length=1)
    #: Its length; or `tokens`, or `share`.
    steps: limits.Steps
    #: Its length in tokens, rounded up to a step.
    tokens: limits.Tokens | None = None
    share: limits.Share | None = Field(default=None, description="share of the recipe's steps")
    #: Linear warm-up, in steps.
    warmup_steps: limits.StepNumber = 0
    #: The same as a share of the stage, rounded up to a step.
    warmup_share: float | None = Field(default=None, ge=0, lt=1)
    #: Peak rate; what a stage leaves out, it takes from the recipe.
    learning_rate: limits.Rate
    #: After the warm-up.
    schedule: Schedule = "cosine"
    #: Rate at the end, relative to the peak.
    final_learning_rate_share: float = Field(default=0.1, ge=0, le=1)
    #: An update multiplies weights by 1 - rate * decay.
    weight_decay: limits.Decay = 0.0
    #: A mixture of data for this stage alone (default: that of the run group or pretraining).
    mixture: MixtureId | None = None
    #: Rates of groups (names as in ``train``); the first that fits a parameter holds.
    groups: dict[OneLine, GroupRates] = Field(default_factory=dict)
    #: A low-rank adapter, trained in this stage and merged at its end.
    lora: Lora | None = None
    #: Vocabulary adapters, trained in place of the embeddings (docs/methods.md).
    adapter: VocabularyAdapters | None = None

    @field_validator("train", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _parts_fit(self) -> Stage:
        for pattern in (*self.train, *self.groups):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(
                    f"{pattern!r} is not a regular expression ({error}); name a group or correct it"
                ) from None
        named = LORA in self.train
        if named and self.lora is None:
            raise ValueError(f"train names {LORA!r}; give lora: with rank and alpha, too")
        if self.lora is not None and not named:
            raise ValueError(f"lora is given, but train leaves it out; give train: [{LORA}]")
        self._check_new_rows()
        if self.adapter is not None and self.train != [EMBEDDINGS]:
            raise ValueError(
                f"adapter is given, and train is {', '.join(self.train)}; give train:"
                f" {EMBEDDINGS}: adapters are trained in place of embedding and head, and alone"
            )
        if self.adapter is not None and self.adapter.shared and self.groups:
            raise ValueError(
                f"groups gives {', '.join(self.groups)} rates of their own, and embedding and head"
                " share an adapter; leave out groups, or shared"
            )
        return self

    def _check_new_rows(self) -> None:
        """Raise :class:`ValueError` for what would move rows that are not new, or is ignored."""
        if NEW_ROWS not in self.train:
            if NEW_ROWS in self.groups:
                raise ValueError(
                    f"groups gives {NEW_ROWS} rates of their own, but train leaves it out; give"
                    f" train: {NEW_ROWS}, or name {EMBEDDINGS}"
                )
            return
        whole = [part for part in (*self.train, *self.groups) if part in WHOLE_MATRICES]
        if whole:
            raise ValueError(
                f"{', '.join(whole)} beside train: {NEW_ROWS}, whose other rows stay as they are;"
                f" leave one of them out, and give rates to {NEW_ROWS}"
            )
        decay = self.groups.get(NEW_ROWS, GroupRates()).weight_decay
        if decay:
            raise ValueError(
                f"groups.{NEW_ROWS}.weight_decay: {decay:g}; {NEW_ROWS} have none: leave it out"
            )

    def factor(self, step: int) -> float:
        return learning_rate_factor(
            step,
            schedule=self.schedule,
            steps=self.steps,
            warmup_steps=self.warmup_steps,
            final_share=self.final_learning_rate_share,
        )

    def described(self) -> dict[str, Any]:
        """Return what the stage does as plain data; rates that a group inherits are left out."""
        values = self.model_dump(exclude_none=True)
        return {key: values[key] for key in DESCRIBED if key in values}
