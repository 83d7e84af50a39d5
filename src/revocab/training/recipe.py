"""How training goes: budgets, rates and stages, as data.

A recipe may give its budget in steps or tokens, its warm-up in steps or as a share, and its stages'
budgets in steps, tokens or shares. All of it is resolved to steps here, once, so that everything
below works with numbers of steps only.
"""

from __future__ import annotations

import math
import re
from itertools import accumulate
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from revocab.closed import PLACES, Closed, Id, OneLine
from revocab.training.lora import LORA, Lora
from revocab.training.schedule import Schedule, learning_rate_factor

#: What a loss is a mean over: every token of text, or the answers of conversations.
ALL: Literal["all"] = "all"
ANSWERS: Literal["answers"] = "answers"
#: What decides nothing where conversations are packed, and where documents are.
OF_DOCUMENTS = ("document_start", "document_end", "document_masking", "rows_begin_at")
#: Where rows of text may begin.
RowsBeginAt = Literal["anywhere", "document", "paragraph"]
ANYWHERE: RowsBeginAt = "anywhere"
OF_CONVERSATIONS = ("one_per_row", "drop_too_long", "chat_template")
#: Keys that a stage takes from its recipe where it does not give them itself.
INHERITED = (
    "learning_rate",
    "schedule",
    "final_learning_rate_share",
    "weight_decay",
)
#: The order in which manifests list what a stage says.
DESCRIBED = (
    "name",
    "steps",
    "learning_rate",
    "train",
    "warmup_steps",
    "schedule",
    "final_learning_rate_share",
    "weight_decay",
    "groups",
    "lora",
)
#: Ways to say how long something goes on; one of each is given.
BUDGETS = ("steps", "tokens", "share")
WARMUPS = ("warmup_steps", "warmup_share")


class GroupRates(Closed):
    """What one group of parameters has of its own within a stage."""

    learning_rate: float | None = Field(default=None, gt=0)
    weight_decay: float | None = Field(default=None, ge=0)


class Stage(Closed):
    """A part of a recipe with its own parameters, rates and schedule; AdamW starts it afresh."""

    name: Id
    #: ``all``, ``embeddings`` (input and head), ``input_embeddings``, ``output_embeddings``,
    #: ``attention``, ``mlp``, ``norms``, ``added_blocks`` (those of block expansion), ``lora`` (the
    #: adapter of this stage, which ``lora`` describes), or regular expressions searched in
    #: parameter names.
    train: list[OneLine] = Field(default=["all"], min_length=1)
    steps: int = Field(ge=1)
    tokens: int | None = Field(default=None, ge=1)
    share: float | None = Field(default=None, gt=0, le=1, description="share of the recipe's steps")
    warmup_steps: int = Field(default=0, ge=0)
    warmup_share: float | None = Field(default=None, ge=0, lt=1)
    learning_rate: float = Field(gt=0)
    schedule: Schedule = "cosine"
    final_learning_rate_share: float = Field(default=0.1, ge=0, le=1)
    weight_decay: float = Field(default=0.0, ge=0)
    #: A mixture of data for this stage alone (default: that of the run group or pretraining).
    mixture: Id | None = None
    #: Rates of groups (names as in ``train``); the first that fits a parameter holds.
    groups: dict[OneLine, GroupRates] = Field(default_factory=dict)
    #: A low-rank adapter, trained in this stage and merged at its end.
    lora: Lora | None = None

    @field_validator("train", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _patterns_compile(self) -> Stage:
        for pattern in (*self.train, *self.groups):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(
                    f"{pattern!r} is not a regular expression ({error}); name a group or correct it"
                ) from None
        return self

    @model_validator(mode="after")
    def _adapter_is_trained(self) -> Stage:
        named = LORA in self.train
        if named and self.lora is None:
            raise ValueError(f"train names {LORA!r}; give lora: with rank and alpha, too")
        if self.lora is not None and not named:
            raise ValueError(f"lora is given, but train leaves it out; give train: [{LORA}]")
        return self

    def factor(self, step: int) -> float:
        """Return the multiple of the peak rates after ``step`` updates of this stage."""
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

    sequence_length: int = Field(ge=2, description="tokens per row")
    document_start: bool = Field(default=True, description="put bos before each document")
    document_end: bool = Field(default=False, description="put eos after each document")
    document_masking: bool = Field(default=False, description="mask attention across documents")
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
    size_exponent: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="a mixture's 'size' corpora are sampled in proportion to their bytes to "
        "this power",
    )
    one_per_row: bool = Field(
        default=False,
        description="one conversation per row; otherwise as many as fit, each attending only to "
        "itself",
    )

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
    recipe (docs/deviations.md).
    """

    batch_size: int = Field(ge=1, description="sequences per step, over all devices")
    steps: int = Field(ge=1, description="optimizer steps")
    tokens: int | None = Field(
        default=None,
        ge=1,
        description="training tokens, instead of steps; rounded up to whole steps",
    )
    warmup_steps: int = Field(default=0, ge=0, description="steps of linear warm-up")
    warmup_share: float | None = Field(
        default=None, ge=0, lt=1, description="warm-up as a share of the steps, rounded up"
    )
    learning_rate: float = Field(gt=0, description="peak learning rate")
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
    adam_epsilon: float = Field(default=1e-8, gt=0, description="epsilon of AdamW")
    weight_decay: float = Field(default=0.0, ge=0, description="weight decay, as in torch's AdamW")
    gradient_clip: float = Field(default=1.0, gt=0, description="maximum norm of the gradient")
    checkpoint_every: int = Field(ge=1, description="steps between checkpoints")
    heldout_every: int | None = Field(
        default=None,
        ge=1,
        description="steps between held-out losses, besides checkpoints; default: none",
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
    def _stage_names_differ(self) -> TrainingOptions:
        names = [stage.name for stage in self.stages or ()]
        if len(set(names)) < len(names):
            raise ValueError(f"stages: names {', '.join(names)}; give each stage its own")
        taken = sorted({*names} & {*PLACES})
        if taken:
            raise ValueError(f"stages: {', '.join(taken)} names a checkpoint; rename the stage")
        return self

    @property
    def stage_ends(self) -> dict[str, int]:
        """Return the step that ends each stage, by the stage's name, in order."""
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

    sequence_length: int = Field(ge=8, description="tokens per row")
    chat_template: OneLine | None = Field(
        default=None,
        description="Jinja file that marks answers, or the name of a template of the package; "
        "default: the tokenizer's own",
    )


def steps_of(tokens: int, per_step: int) -> int:
    """Return the steps that cover ``tokens``."""
    return -(-tokens // per_step)


def with_warmup(values: dict[str, Any], where: str) -> dict[str, Any]:
    """Return ``values`` with ``warmup_share`` turned into ``warmup_steps``."""
    share, steps = values.get("warmup_share"), values.get("steps")
    if share is None or not isinstance(share, int | float) or not isinstance(steps, int):
        return values
    if values.get("warmup_steps"):
        raise ValueError(
            f"{where}warmup_steps and warmup_share are both given; give one of {', '.join(WARMUPS)}"
        )
    rest = {key: value for key, value in values.items() if key != "warmup_share"}
    return {**rest, "warmup_steps": math.ceil(share * steps - 1e-9)}


def resolved(values: dict[str, Any]) -> dict[str, Any]:
    """Return a recipe's values with every budget in steps; ``ValueError`` if they contradict.

    What has the wrong type is left for the schema to report.
    """
    values = {key: value for key, value in values.items() if value is not None}
    per_step = 0
    if isinstance(values.get("sequence_length"), int) and isinstance(values.get("batch_size"), int):
        per_step = values["sequence_length"] * values["batch_size"]
    if "steps" in values and "tokens" in values:
        raise ValueError("steps and tokens are both given; give one")
    if isinstance(values.get("tokens"), int) and per_step > 0:
        values["steps"] = steps_of(values.pop("tokens"), per_step)
    stages = values.get("stages")
    if isinstance(stages, list) and stages and all(isinstance(one, dict) for one in stages):
        values["stages"] = stages = resolved_stages(values, stages, per_step)
        if "learning_rate" not in values and "learning_rate" in stages[0]:
            values["learning_rate"] = stages[0]["learning_rate"]
        if "steps" not in values and all("steps" in stage for stage in stages):
            values["steps"] = sum(stage["steps"] for stage in stages)
        for key in WARMUPS:
            values.pop(key, None)
    return with_warmup(values, "")


def resolved_stages(
    recipe: dict[str, Any], stages: list[dict[str, Any]], per_step: int
) -> list[dict[str, Any]]:
    """Return the stages with what they inherit and with budgets in steps."""
    total = recipe.get("steps")
    found = []
    for number, one in enumerate(stages):
        where = f"stages.{number}: "
        given = {key: value for key, value in one.items() if value is not None}
        stage = {key: recipe[key] for key in INHERITED if key in recipe}
        if not any(key in given for key in WARMUPS):
            stage |= {key: recipe[key] for key in WARMUPS if key in recipe}
        stage |= given
        budgets = [key for key in BUDGETS if key in stage]
        if len(budgets) != 1:
            raise ValueError(
                f"{where}exactly one of {', '.join(BUDGETS)} must be given, received "
                f"{', '.join(budgets) or 'none'}"
            )
        if isinstance(stage.get("tokens"), int) and per_step > 0:
            stage["steps"] = steps_of(stage.pop("tokens"), per_step)
        found.append(stage)
    shares = [stage["share"] for stage in found if "share" in stage]
    if shares and not all(isinstance(one, int | float) for one in shares):
        return found
    if shares:
        if not isinstance(total, int):
            raise ValueError("stages: a share needs the recipe's own steps or tokens")
        if len(shares) < len(found) or abs(sum(shares) - 1) > 1e-6:
            raise ValueError(
                f"stages: shares {shares} sum to {sum(shares):g}; every stage needs"
                " one, and they must sum to 1"
            )
        ends = [round(sum(shares[: number + 1]) * total) for number in range(len(shares))]
        for stage, begin, end in zip(found, [0, *ends], ends, strict=False):
            del stage["share"]
            stage["steps"] = end - begin
    elif isinstance(total, int) and all(isinstance(one.get("steps"), int) for one in found):
        given = sum(one["steps"] for one in found)
        if given != total:
            raise ValueError(f"stages: {given} steps in all, but the recipe gives {total}")
    return [with_warmup(stage, f"stages.{n}: ") for n, stage in enumerate(found)]
