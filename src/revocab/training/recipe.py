"""How training goes: budgets, rates and stages, as data.

A recipe may give its budget in steps or tokens, its warm-up in steps or as a share, and its stages'
budgets in steps, tokens or shares. All of it is resolved to steps here, once, so that everything
below works with numbers of steps only.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from revocab import limits
from revocab.closed import BEST, EVERY, PLACES, Closed, Job, OneLine
from revocab.training.stages import NEW_ROWS, Schedule, Stage, VocabularyAdapters
from revocab.vocabulary.tokenizers.encoding import SPECIAL_TOKENS, TEXT, SpecialTokens

#: What a loss is a mean over: every token of text, or the answers of conversations.
ALL: Literal["all"] = "all"
ANSWERS: Literal["answers"] = "answers"
#: Which checkpoints of a run stay: those that nothing reads go, or all but the last once read.
EVALUATED: Literal["evaluated"] = "evaluated"
LAST: Literal["last"] = "last"
#: What decides nothing where conversations are packed, and where documents are.
OF_DOCUMENTS = ("document_start", "document_end", "rows_begin_at", "special_tokens")
#: Where rows of text may begin.
RowsBeginAt = Literal["anywhere", "document", "paragraph"]
ANYWHERE: RowsBeginAt = "anywhere"
OF_CONVERSATIONS = ("one_per_row", "drop_too_long", "cut_too_long", "chat_template")


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

    sequence_length: Annotated[int, Field(ge=2), limits.POSITIONS] = Field(
        description="tokens per row"
    )
    document_start: bool = Field(default=True, description="put bos before each document")
    document_end: bool = Field(default=False, description="put eos after each document")
    #: Left out of what is written at its default, so that rows packed before there was a choice
    #: keep their job.
    rows_begin_at: RowsBeginAt = Field(
        default=ANYWHERE,
        exclude_if=lambda value: value == ANYWHERE,
        description="where rows may begin; the rest of a document or paragraph that the row before "
        "it cuts is left out",
    )
    special_tokens: SpecialTokens = Field(
        default=TEXT, exclude_if=lambda value: value == TEXT, description=SPECIAL_TOKENS
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
        exclude_if=lambda value: not value,
        description="cut conversations longer than a row at its end; one without an answer before "
        "it is left out, as is what is held out and longer than a row",
    )

    @model_validator(mode="after")
    def _fits_loss(self) -> PackingOptions:
        if self.cut_too_long and self.drop_too_long:
            raise ValueError(
                "drop_too_long and cut_too_long: a long conversation is left out or cut; give one"
            )
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


#: Keys that a stage takes from its recipe where it does not give them itself.
INHERITED = ("learning_rate", "schedule", "final_learning_rate_share", "weight_decay")
#: Ways to say how long something goes on; one of each is given.
BUDGETS = ("steps", "tokens", "share")
WARMUPS = ("warmup_steps", "warmup_share")


def steps_of(tokens: int, per_step: int) -> int:
    """Return the steps that cover ``tokens``; ``ValueError`` if these are too many."""
    try:
        limits.TEXT_TOKENS.func(tokens)  # type: ignore[call-arg]
    except ValueError as error:
        raise ValueError(f"tokens: {error}, received {tokens}") from None
    return -(-tokens // per_step)


def is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def resolved(values: dict[str, Any]) -> dict[str, Any]:
    """Return a recipe's values with every budget in steps; ``ValueError`` if they contradict.

    What has the wrong type is left for the schema to report.
    """
    values = {key: value for key, value in values.items() if value is not None}
    length, rows = values.get("sequence_length"), values.get("batch_size")
    per_step = length * rows if isinstance(length, int) and isinstance(rows, int) else 0
    if "steps" in values and "tokens" in values:
        raise ValueError("steps and tokens are both given; give one")
    _tokens_to_steps(values, per_step)
    stages = values.get("stages")
    if isinstance(stages, list) and stages and all(isinstance(stage, dict) for stage in stages):
        values["stages"] = stages = _resolved_stages(values, stages, per_step)
        if "learning_rate" in stages[0]:
            values.setdefault("learning_rate", stages[0]["learning_rate"])
        steps = [stage.get("steps") for stage in stages]
        if "steps" not in values and all(isinstance(number, int) for number in steps):
            values["steps"] = sum(steps)
        for key in WARMUPS:
            values.pop(key, None)
    return _with_warmup(values)


def _tokens_to_steps(values: dict[str, Any], per_step: int) -> None:
    if isinstance(values.get("tokens"), int) and per_step > 0:
        values["steps"] = steps_of(values.pop("tokens"), per_step)


def _with_warmup(values: dict[str, Any], where: str = "") -> dict[str, Any]:
    share, steps = values.get("warmup_share"), values.get("steps")
    if share is None or not is_share(share) or share == 1 or not isinstance(steps, int):
        return values
    if values.get("warmup_steps"):
        raise ValueError(
            f"{where}warmup_steps and warmup_share are both given; give one of {', '.join(WARMUPS)}"
        )
    rest = {key: value for key, value in values.items() if key != "warmup_share"}
    return {**rest, "warmup_steps": math.ceil(share * steps - 1e-9)}


def _resolved_stages(
    recipe: dict[str, Any], entries: list[dict[str, Any]], per_step: int
) -> list[dict[str, Any]]:
    stages = []
    for number, entry in enumerate(entries):
        own = {key: value for key, value in entry.items() if value is not None}
        inherited = INHERITED if own.keys() & {*WARMUPS} else (*INHERITED, *WARMUPS)
        stage = {key: recipe[key] for key in inherited if key in recipe} | own
        budgets = [key for key in BUDGETS if key in stage]
        if len(budgets) != 1:
            raise ValueError(
                f"stages.{number}: exactly one of {', '.join(BUDGETS)} must be given, received "
                f"{', '.join(budgets) or 'none'}"
            )
        _tokens_to_steps(stage, per_step)
        stages.append(stage)
    total = recipe.get("steps")
    shares = [stage["share"] for stage in stages if "share" in stage]
    if not all(map(is_share, shares)):
        return stages
    if shares:
        if not isinstance(total, int):
            raise ValueError("stages: a share needs the recipe's own steps or tokens")
        if len(shares) < len(stages) or abs(sum(shares) - 1) > 1e-6:
            raise ValueError(
                f"stages: shares {shares} sum to {sum(shares):g}; every stage needs"
                " one, and they must sum to 1"
            )
        ends = [round(sum(shares[: number + 1]) * total) for number in range(len(shares))]
        for stage, begin, end in zip(stages, [0, *ends], ends, strict=False):
            del stage["share"]
            stage["steps"] = end - begin
    elif isinstance(total, int) and all(isinstance(stage.get("steps"), int) for stage in stages):
        sum_of_steps = sum(stage["steps"] for stage in stages)
        if sum_of_steps != total:
            raise ValueError(f"stages: {sum_of_steps} steps in all, but the recipe gives {total}")
    return [_with_warmup(stage, f"stages.{number}: ") for number, stage in enumerate(stages)]


class TrainingOptions(LossOptions):
    """Budget, rates and stages. ``weight_decay`` is in torch's AdamW convention: an update
    multiplies by ``1 - lr_t * weight_decay``, norms and embeddings included, as in the published
    recipe (docs/papers/sava.md).
    """

    batch_size: limits.BatchSize = Field(description="sequences per step, over all devices")
    steps: limits.Steps = Field(description="optimizer steps")
    tokens: limits.Tokens | None = Field(
        default=None, description="training tokens, instead of steps; rounded up to whole steps"
    )
    warmup_steps: limits.StepNumber = Field(default=0, description="steps of linear warm-up")
    warmup_share: float | None = Field(
        default=None, ge=0, lt=1, description="warm-up as a share of the steps, rounded up"
    )
    learning_rate: limits.Rate = Field(description="peak learning rate")
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
    adam_epsilon: limits.Epsilon = Field(default=1e-8, description="epsilon of AdamW")
    weight_decay: limits.Decay = Field(default=0.0, description="weight decay, as in torch's AdamW")
    gradient_clip: limits.Positive = Field(default=1.0, description="maximum norm of the gradient")
    checkpoint_every: limits.Steps = Field(description="steps between checkpoints")
    heldout_every: limits.Steps | None = Field(
        default=None,
        description="steps between held-out losses, besides checkpoints; default: none",
    )
    #: Left out of what is written at its default, as before there was a choice.
    keep_best: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
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
        taken = sorted({*names} & {*PLACES, BEST, EVERY})
        if taken:
            raise ValueError(f"stages: {', '.join(taken)} names a checkpoint; rename the stage")
        late = [stage.name for stage in (self.stages or ())[1:] if stage.adapter]
        if late:
            raise ValueError(
                f"stages: {', '.join(late)} has adapter, and is not the first stage; adapters start"
                " from the rows before training: put the stage first"
            )
        if (rows := self.steps * self.batch_size) > limits.ROWS:
            raise ValueError(
                f"batch_size: {self.batch_size:,} over {self.steps:,} steps are {rows:,} rows; give"
                f" at most {limits.ROWS:,} in all"
            )
        for key, what, most in (
            ("checkpoint_every", "checkpoints", limits.CHECKPOINTS),
            ("heldout_every", "held-out losses", limits.HELDOUT_LOSSES),
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
    def trains_new_rows(self) -> bool:
        return any(NEW_ROWS in stage.train for stage in self.stages or ())

    @property
    def can_be_sharded(self) -> bool:
        """Whether FSDP may divide the weights: merging an adapter needs whole ones."""
        return not any(stage.lora for stage in self.stages or ())

    @property
    def reads_source(self) -> bool:
        return self.adapter is not None

    def mixtures(self, mixture: str) -> list[str]:
        """Return the mixtures of all stages; ``mixture`` is that of those which name none."""
        named = dict.fromkeys(stage.mixture or mixture for stage in self.stages or ())
        return [*named] or [mixture]

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

    @model_validator(mode="after")
    def _a_step_fits(self) -> Recipe:
        if self.batch_size * self.sequence_length > limits.TOKENS_PER_STEP:
            raise ValueError(
                f"batch_size: {self.batch_size:,} rows of {self.sequence_length:,} tokens are a"
                f" step; give at most {limits.TOKENS_PER_STEP:,} tokens"
            )
        return self

    sequence_length: Annotated[int, Field(ge=8), limits.POSITIONS] = Field(
        description="tokens per row"
    )
    chat_template: OneLine | None = Field(
        default=None,
        description="Jinja file that marks answers, or the name of a template of the package; "
        "default: the tokenizer's own",
    )
    #: No part of a training's job: what becomes of its checkpoints trains nothing again.
    keep: Literal["all", "evaluated", "last"] = Field(
        default=ALL,
        exclude_if=lambda value: value == ALL,
        description="which checkpoints of a run stay when all that reads them is done: all, those "
        "that something reads, or the last alone (and the best)",
    )


class DropJob(Job):
    """Checkpoints that are removed from a finished training."""

    steps: list[limits.StepNumber] = Field(min_length=1, description="steps of the checkpoints")
