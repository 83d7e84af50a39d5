"""Stages of a recipe: what is trained when and at which rates, as functions of the step."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator, model_validator

from revocab import limits
from revocab.closed import Closed, Id, MixtureId, OneLine
from revocab.errors import refuse
from revocab.models.changes.blocks import ADDED_BLOCKS
from revocab.models.token_rows import is_per_layer
from revocab.training.lora import LORA, Lora, adapter_name, adapter_of, plain_name

if TYPE_CHECKING:
    import torch

    from revocab.models.folder import Which

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
#: Named groups found by their names in every decoder of the Hugging Face kind.
PATTERNS = {"all": "", "attention": r"\.self_attn\.", "mlp": r"\.mlp\.", "norms": r"norm\.weight$"}
#: Named groups found by asking the model, so that tied and renamed matrices are met too.
MATRICES = {
    EMBEDDINGS: ("input", "output"),
    "input_embeddings": ("input",),
    "output_embeddings": ("output",),
    NEW_ROWS: ("input", "output"),
}
#: What a recipe or stage may name.
Schedule = Literal["constant", "cosine", "linear", "inverse_sqrt"]
#: Updates over which a rate of ``inverse_sqrt`` without a warm-up keeps near its peak.
TIMESCALE = 10_000


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
        """Return the multiple of the peak learning rate used by the update after ``step`` updates.

        Linear warm-up ``step / warmup_steps`` from 0, then 1 (``constant``) or, with
        ``tau = (step - warmup_steps) / (steps - warmup_steps)`` and ``f`` the final share,
        ``f + (1 - f) (1 + cos(pi tau)) / 2`` (``cosine``), the released SAVA recipe (llm-foundry's
        ``cosine_with_warmup``), or ``f + (1 - f) (1 - tau)`` (``linear``). As there, the first
        update of a warm-up has rate 0. ``inverse_sqrt`` knows neither end nor floor: with ``t`` the
        steps of the warm-up, or :data:`TIMESCALE` where there is none, it is
        ``sqrt(t / (step - warmup_steps + t))``, as in transformers' ``get_inverse_sqrt_schedule``.
        """
        if step < self.warmup_steps:
            return step / self.warmup_steps
        after, final = step - self.warmup_steps, self.final_learning_rate_share
        if self.schedule == "constant":
            return 1.0
        if self.schedule == "inverse_sqrt":
            timescale = self.warmup_steps or TIMESCALE
            return math.sqrt(timescale / (after + timescale))
        progress = min(1.0, after / max(1, self.steps - self.warmup_steps))
        if self.schedule == "linear":
            return final + (1.0 - final) * (1.0 - progress)
        return final + (1.0 - final) * (1.0 + math.cos(math.pi * progress)) / 2.0

    def described(self) -> dict[str, Any]:
        """Return what the stage does as plain data; rates that a group inherits are left out."""
        values = self.model_dump(exclude_none=True)
        return {key: values[key] for key in DESCRIBED if key in values}


@dataclass(frozen=True)
class PeakRates:
    """Peak learning rate and weight decay of a parameter in a stage."""

    learning_rate: float
    weight_decay: float
    #: Whether only rows move that are new.
    new_rows: bool = False


@dataclass
class ParameterGroup:
    """Parameters that share their rates in every stage; ``None`` is a stage that freezes them."""

    rates: tuple[PeakRates | None, ...]
    names: list[str] = field(default_factory=list)
    parameters: list[torch.nn.Parameter] = field(default_factory=list)


class StagePlan:
    """The stages of a run laid end to end."""

    def __init__(self, stages: Iterable[Stage]):
        self.stages = tuple(stages)
        self.ends = tuple(accumulate(stage.steps for stage in self.stages))
        self.begins = (0, *self.ends[:-1])

    def index(self, step: int) -> int:
        """Return the number of the stage that makes the update after ``step`` updates."""
        return min(bisect_right(self.ends, step), len(self.ends) - 1)

    def learning_rate(self, rates: tuple[PeakRates | None, ...], step: int) -> float:
        """Return the learning rate at ``step`` of a group with these rates; 0 while frozen."""
        number = self.index(step)
        if (current := rates[number]) is None:
            return 0.0
        return current.learning_rate * self.stages[number].factor(step - self.begins[number])

    def groups(self, model: Any) -> list[ParameterGroup]:
        """Split the model's parameters by their rates, in the model's order.

        What no stage trains is left out. Raises :class:`RevocabError` for a name or pattern that
        fits no parameter.
        """
        named = list(model.named_parameters())
        members = [
            {part: names_of(model, named, part, number) for part in (*stage.train, *stage.groups)}
            for number, stage in enumerate(self.stages)
        ]
        stages = [*zip(self.stages, members, strict=True)]
        known = ", ".join(sorted({*PATTERNS, *MATRICES, ADDED_BLOCKS, LORA}))
        advice = {
            ADDED_BLOCKS: f"its config.json has no {ADDED_BLOCKS}; train a model that block"
            " expansion made"
        }
        usual = f"name a group ({known}) or give a regular expression"
        problems = [
            f"stage {stage.name}: {part!r} fits no parameter of the model;"
            f" {advice.get(part, usual)}"
            for stage, parts in stages
            for part, names in parts.items()
            if not names
        ]
        problems += [
            f"stage {stage.name}: {part!r} fits an embedding or head, of which train: {NEW_ROWS}"
            " moves new rows alone; correct the pattern"
            for stage, parts in stages
            for part, names in parts.items()
            if part != NEW_ROWS and names & parts.get(NEW_ROWS, set())
        ]
        refuse(problems)
        groups: dict[tuple[PeakRates | None, ...], ParameterGroup] = {}
        for name, parameter in named:
            rates = tuple(_rates(name, stage, parts) for stage, parts in stages)
            if any(rates):
                group = groups.setdefault(rates, ParameterGroup(rates))
                group.names.append(name)
                group.parameters.append(parameter)
        return list(groups.values())


def _rates(name: str, stage: Stage, parts: dict[str, set[str]]) -> PeakRates | None:
    """Return the rates of the parameter ``name`` in a stage, or ``None`` where it is frozen.

    ``parts`` are the names of the parameters that each group of the stage stands for.
    """
    if not any(name in parts[group] for group in stage.train):
        return None
    fitting = (rates for group, rates in stage.groups.items() if name in parts[group])
    own = next(fitting, GroupRates())
    if name in parts.get(NEW_ROWS, ()):
        return PeakRates(own.learning_rate or stage.learning_rate, 0.0, new_rows=True)
    return PeakRates(
        own.learning_rate or stage.learning_rate,
        stage.weight_decay if own.weight_decay is None else own.weight_decay,
    )


def names_of(model: Any, named: list[tuple[str, Any]], group: str, stage: int) -> set[str]:
    """Return the names of the parameters that a group's name or a pattern stands for in a stage.

    Adapters belong to no group but ``lora``, which is that of the stage.
    """
    if group == LORA:
        return {name for name, _ in named if adapter_of(name) == adapter_name(stage)}
    if group == ADDED_BLOCKS:
        group = rf"\.layers\.({'|'.join(map(str, getattr(model.config, ADDED_BLOCKS, ())))})\."
    if group in MATRICES:
        modules = {"input": model.get_input_embeddings(), "output": model.get_output_embeddings()}
        wanted = [modules[which].weight for which in MATRICES[group] if modules[which] is not None]
        names = {name for name, parameter in named if any(parameter is matrix for matrix in wanted)}
        return names | {*tables_of(named)} if "input" in MATRICES[group] else names
    pattern = re.compile(PATTERNS.get(group, group))
    own = [name for name, _ in named if adapter_of(name) is None]
    return {name for name in own if pattern.search(plain_name(name))}


def tables_of(named: Iterable[tuple[str, Any]]) -> list[str]:
    """Return the names of the parameters that are tables per layer: input embeddings, too."""
    return [name for name, _ in named if is_per_layer(plain_name(name))]


def matrices_of(model: Any) -> Iterator[tuple[Which, torch.nn.Parameter]]:
    """Yield a model's vocabulary matrices; of a tied model one."""
    first, second = model.get_input_embeddings(), model.get_output_embeddings()
    yield "input", first.weight
    if second is not None and second.weight is not first.weight:
        yield "output", second.weight
