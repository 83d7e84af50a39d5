"""Stages of a recipe: which parameters train when, and at which rates, as functions of the step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from revocab.errors import refuse
from revocab.models.changes.blocks import ADDED_BLOCKS, added_blocks
from revocab.models.token_rows import is_per_layer
from revocab.training.adapters.lora import LORA, adapter_name, adapter_of, plain_name
from revocab.training.stage import EMBEDDINGS, NEW_ROWS, GroupRates, Stage

if TYPE_CHECKING:
    import torch

    from revocab.models.folder import Which

#: Named groups found by their names in every decoder of the Hugging Face kind.
PATTERNS = {"all": "", "attention": r"\.self_attn\.", "mlp": r"\.mlp\.", "norms": r"norm\.weight$"}
#: Named groups found by asking the model, so that tied and renamed matrices are met too.
MATRICES = {
    EMBEDDINGS: ("input", "output"),
    "input_embeddings": ("input",),
    "output_embeddings": ("output",),
    NEW_ROWS: ("input", "output"),
}


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
        ends, end = [], 0
        for stage in self.stages:
            end += stage.steps
            ends.append(end)
        self.ends = tuple(ends)
        self.begins = (0, *ends[:-1])

    def index(self, step: int) -> int:
        """Return the number of the stage that makes the update after ``step`` updates."""
        for number, end in enumerate(self.ends):
            if step < end:
                return number
        return len(self.stages) - 1

    def factor(self, step: int) -> float:
        number = self.index(step)
        return self.stages[number].factor(step - self.begins[number])

    def learning_rate(self, rates: tuple[PeakRates | None, ...], step: int) -> float:
        """Return the learning rate at ``step`` of a group with these rates; 0 while frozen."""
        current = rates[self.index(step)]
        return 0.0 if current is None else current.learning_rate * self.factor(step)

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
        problems = [
            f"stage {stage.name}: {part!r} fits no parameter of the model; {_advice(part)}"
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


def _advice(group: str) -> str:
    if group == ADDED_BLOCKS:
        return f"its config.json has no {ADDED_BLOCKS}; train a model that block expansion made"
    groups = sorted({*PATTERNS, *MATRICES, ADDED_BLOCKS, LORA})
    return f"name a group ({', '.join(groups)}) or give a regular expression"


def names_of(model: Any, named: list[tuple[str, Any]], group: str, stage: int) -> set[str]:
    """Return the names of the parameters that a group's name or a pattern stands for in a stage.

    Adapters belong to no group but ``lora``, which is that of the stage.
    """
    if group == LORA:
        return {name for name, _ in named if adapter_of(name) == adapter_name(stage)}
    if group == ADDED_BLOCKS:
        group = rf"\.layers\.({'|'.join(map(str, added_blocks(model)))})\."
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
