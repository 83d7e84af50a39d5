"""How training goes: budgets, rates and stages, as data.

A recipe may give its budget in steps or tokens, its warm-up in steps or as a share, and its stages'
budgets in steps, tokens or shares. All of it is resolved to steps here, once, so that everything
below works with numbers of steps only.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from revocab.closed import BEST, PLACES, Closed, Id, MixtureId, OneLine
from revocab.limits import (
    CHECKPOINTS,
    HELDOUT_LOSSES,
    POSITIONS,
    BatchSize,
    Decay,
    Epsilon,
    NotNegative,
    Positive,
    Rate,
    Share,
    StepNumber,
    Steps,
    Tokens,
)
from revocab.training.adapters.lora import LORA, Lora
from revocab.training.budgets import Schedule, learning_rate_factor, resolved

#: What a loss is a mean over: every token of text, or the answers of conversations.
ALL: Literal["all"] = "all"
ANSWERS: Literal["answers"] = "answers"
#: Which checkpoints of a run stay: those that nothing reads go, or all but the last once read.
EVALUATED: Literal["evaluated"] = "evaluated"
LAST: Literal["last"] = "last"
#: What ``train`` of a stage calls embedding and head.
EMBEDDINGS = "embeddings"
#: What decides nothing where conversations are packed, and where documents are.
OF_DOCUMENTS = ("document_start", "document_end", "rows_begin_at")
#: Where rows of text may begin.
RowsBeginAt = Literal["anywhere", "document", "paragraph"]
ANYWHERE: RowsBeginAt = "anywhere"
OF_CONVERSATIONS = ("one_per_row", "drop_too_long", "cut_too_long", "chat_template")
#: The order in which manifests list what a stage says.
DESCRIBED = (
    "name", "steps", "learning_rate", "train", "warmup_steps", "schedule",
    "final_learning_rate_share", "weight_decay", "groups", "lora", "adapter",
)  # fmt: skip


class GroupRates(Closed):
    """What one group of parameters has of its own within a stage."""

    #: In place of the stage's.
    learning_rate: Rate | None = None
    #: In place of the stage's.
    weight_decay: Decay | None = None


class VocabularyAdapters(Closed):
    """How the matrices ``A`` of ``E_new = A E_source`` are trained, in place of embeddings."""

    auxiliary: NotNegative = Field(
        default=0.0,
        description="weight of the loss that keeps rows of shared tokens near the source's",
    )
    shared: bool = Field(
        default=False,
        exclude_if=lambda given: not given,
        description="one matrix A for embedding and head, also of a model whose head is its own",
    )


class Stage(Closed):
    """A part of a recipe with its own parameters, rates and schedule; AdamW starts it afresh."""

    #: Also that of the checkpoint at its end.
    name: Id
    #: ``all``, ``embeddings`` (input and head), ``input_embeddings``, ``output_embeddings``,
    #: ``attention``, ``mlp``, ``norms``, ``added_blocks`` (those of block expansion), ``lora`` (the
    #: adapter of this stage, which ``lora`` describes), or regular expressions searched in
    #: parameter names.
    train: list[OneLine] = Field(default=["all"], min_length=1)
    #: Its length; or `tokens`, or `share`.
    steps: Steps
    #: Its length in tokens, rounded up to a step.
    tokens: Tokens | None = None
    share: Share | None = Field(default=None, description="share of the recipe's steps")
    #: Linear warm-up, in steps.
    warmup_steps: StepNumber = 0
    #: The same as a share of the stage, rounded up to a step.
    warmup_share: float | None = Field(default=None, ge=0, lt=1)
    #: Peak rate; what a stage leaves out, it takes from the recipe.
    learning_rate: Rate
    #: After the warm-up.
    schedule: Schedule = "cosine"
    #: Rate at the end, relative to the peak.
    final_learning_rate_share: float = Field(default=0.1, ge=0, le=1)
    #: An update multiplies weights by 1 - rate * decay.
    weight_decay: Decay = 0.0
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


class LossOptions(Closed):
    """What is learned."""

    loss: Literal["all", "answers"] = Field(
        default=ALL,
        description="what is trained on: every token of text, or only the answers of conversations",
    )


class ConversationOptions(Closed):
    """What becomes of conversations."""

    drop_too_long: bool = Field(
        default=False,
        description="leave out conversations longer than a row; otherwise they are an error",
    )


class PackingOptions(LossOptions, ConversationOptions):
    """How documents become one stream of tokens, and the stream rows; or conversations rows."""

    sequence_length: Annotated[int, Field(ge=2), POSITIONS] = Field(description="tokens per row")
    document_start: bool = Field(default=True, description="put bos before each document")
    document_end: bool = Field(default=False, description="put eos after each document")
    #: Left out of what is written at its default, so that rows packed before there was a choice
    #: keep their job.
    rows_begin_at: RowsBeginAt = Field(
        default=ANYWHERE,
        exclude_if=lambda given: given == ANYWHERE,
        description="where rows may begin; the rest of a document or paragraph that the row before "
        "it cuts is left out",
    )
    repeat_corpora: bool = Field(default=False, description="start a corpus over when it ends")
    shuffle_rows: bool = Field(
        default=False,
        description="shuffle the rows of a corpus by the seed; otherwise they keep the order "
        "of its documents",
    )
    one_per_row: bool = Field(
        default=False,
        description="one conversation per row; otherwise as many as fit, each attending only to "
        "itself",
    )

    #: Left out of what is written at its default, as before there was a choice.
    cut_too_long: bool = Field(
        default=False,
        exclude_if=lambda given: not given,
        description="cut conversations longer than a row at its end; one without an answer before "
        "it is left out, as is what is held out and longer than a row",
    )

    @model_validator(mode="after")
    def _one_fate(self) -> PackingOptions:
        if self.cut_too_long and self.drop_too_long:
            raise ValueError(
                "drop_too_long and cut_too_long: a long conversation is left out or cut; give one"
            )
        return self

    @model_validator(mode="after")
    def _fits_loss(self) -> PackingOptions:
        fields = type(self).model_fields
        idle = [
            key
            for key in (OF_DOCUMENTS if self.loss == ANSWERS else OF_CONVERSATIONS)
            if key in fields and getattr(self, key) != fields[key].default
        ]
        if idle:
            reason = (
                "a conversation begins and ends as its chat template says, and attention is kept "
                "inside it; remove"
                if self.loss == ANSWERS
                else "only conversations can use it; set loss: answers, or remove"
            )
            raise ValueError(f"{', '.join(idle)} with loss: {self.loss}: {reason} the key")
        return self


class TrainingOptions(LossOptions):
    """Budget, rates and stages. ``weight_decay`` is in torch's AdamW convention: an update
    multiplies by ``1 - lr_t * weight_decay``, norms and embeddings included, as in the published
    recipe (docs/papers/sava.md).
    """

    batch_size: BatchSize = Field(description="sequences per step, over all devices")
    steps: Steps = Field(description="optimizer steps")
    tokens: Tokens | None = Field(
        default=None, description="training tokens, instead of steps; rounded up to whole steps"
    )
    warmup_steps: StepNumber = Field(default=0, description="steps of linear warm-up")
    warmup_share: float | None = Field(
        default=None, ge=0, lt=1, description="warm-up as a share of the steps, rounded up"
    )
    learning_rate: Rate = Field(description="peak learning rate")
    schedule: Schedule = Field(
        default="cosine", description="learning rate schedule after the warm-up"
    )
    final_learning_rate_share: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="final learning rate of a decay, as a share of the peak",
    )
    adam_beta1: float = Field(default=0.9, ge=0, lt=1, description="beta1 of AdamW")
    adam_beta2: float = Field(default=0.95, ge=0, lt=1, description="beta2 of AdamW")
    adam_epsilon: Epsilon = Field(default=1e-8, description="epsilon of AdamW")
    weight_decay: Decay = Field(default=0.0, description="weight decay, as in torch's AdamW")
    gradient_clip: Positive = Field(default=1.0, description="maximum norm of the gradient")
    checkpoint_every: Steps = Field(description="steps between checkpoints")
    heldout_every: Steps | None = Field(
        default=None,
        description="steps between held-out losses, besides checkpoints; default: none",
    )
    #: Left out of what is written at its default, as before there was a choice.
    keep_best: bool = Field(
        default=False,
        exclude_if=lambda given: not given,
        description="keep the checkpoint with the lowest held-out loss on the corpora that are "
        "trained on as 'best' too",
    )
    precision: Literal["float32", "bfloat16"] = Field(
        default="float32", description="precision of the forward pass; weights are float32"
    )
    stages: list[Stage] | None = Field(
        default=None,
        min_length=1,
        description="stages in order, each with its own parameters and rates; default: one "
        "that trains all",
    )

    @model_validator(mode="before")
    @classmethod
    def _resolved(cls, values: Any) -> Any:
        return resolved(values) if isinstance(values, dict) else values

    @model_validator(mode="after")
    def _stages_fit(self) -> TrainingOptions:
        names = [stage.name for stage in self.stages or ()]
        if len(set(names)) < len(names):
            raise ValueError(f"stages: names {', '.join(names)}; give each stage its own")
        taken = sorted({*names} & {*PLACES, BEST})
        if taken:
            raise ValueError(f"stages: {', '.join(taken)} names a checkpoint; rename the stage")
        late = [stage.name for stage in (self.stages or ())[1:] if stage.adapter]
        if late:
            raise ValueError(
                f"stages: {', '.join(late)} has adapter, and is not the first stage; adapters start"
                " from the rows before training: put the stage first"
            )
        for key, what, most in (
            ("checkpoint_every", "checkpoints", CHECKPOINTS),
            ("heldout_every", "held-out losses", HELDOUT_LOSSES),
        ):
            every = getattr(self, key)
            if every and self.steps // every > most:
                raise ValueError(
                    f"{key}: {every} gives {self.steps // every:,} {what} over {self.steps:,}"
                    f" steps; give at least {-(-self.steps // most)} (at most {most:,})"
                )
        return self

    @property
    def adapter(self) -> VocabularyAdapters | None:
        return self.stages[0].adapter if self.stages else None

    @property
    def stage_ends(self) -> dict[str, int]:
        stages = self.stages or ()
        ends = accumulate(stage.steps for stage in stages)
        return {stage.name: end for stage, end in zip(stages, ends, strict=True)}

    @property
    def checkpoint_steps(self) -> list[int]:
        """Return the steps at which weights are exported, ascending: every
        ``checkpoint_every``-th, the end of every stage, and the last.
        """
        every = range(self.checkpoint_every, self.steps + 1, self.checkpoint_every)
        return sorted({*every, *self.stage_ends.values(), self.steps})

    @property
    def heldout_steps(self) -> list[int]:
        """Return the steps at which held-out loss is measured, ascending: 0, every checkpoint and
        every ``heldout_every``-th.
        """
        every = self.heldout_every
        between = range(every, self.steps + 1, every) if every else ()
        return sorted({0, *between, *self.checkpoint_steps})


class Recipe(TrainingOptions, PackingOptions):
    """How training goes: one entry of an experiment's ``recipes``."""

    sequence_length: Annotated[int, Field(ge=8), POSITIONS] = Field(description="tokens per row")
    chat_template: OneLine | None = Field(
        default=None,
        description="Jinja file that marks answers, or the name of a template of the package; "
        "default: the tokenizer's own",
    )
    #: No part of a training's job: what becomes of its checkpoints trains nothing again.
    keep: Literal["all", "evaluated", "last"] = Field(
        default=ALL,
        exclude_if=lambda given: given == ALL,
        description="which checkpoints of a run stay when all that reads them is done: all, those "
        "that something reads, or the last alone (and the best)",
    )
