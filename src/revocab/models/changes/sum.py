"""A sum of differences: body + Σ weight · (model − minus), tensor by tensor.

What instruction tuning changed in one model can so be laid on another one of the same shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from revocab.closed import Closed
from revocab.errors import RevocabError
from revocab.heavy_types import Tensor
from revocab.limits import Weight
from revocab.models.change import (
    Change,
    Changed,
    ChangeInputs,
    ChangeOptions,
    ModelReference,
    reference_name,
)
from revocab.models.finding import some
from revocab.models.operands import Operands, changed_files
from revocab.models.weights.files import Part


class Term(Closed):
    """One difference."""

    model: ModelReference
    minus: ModelReference | None = Field(
        default=None, description="default: the model that is changed"
    )
    #: How much of the difference; may be negative.
    weight: Weight = Field(default=1.0, allow_inf_nan=False)


class SumOptions(ChangeOptions):
    """What is added to the body."""

    add: list[Term] = Field(min_length=1, description="differences to add: model, minus, weight")

    def given_models(self) -> Iterator[tuple[str, ModelReference]]:
        for number, term in enumerate(self.add):
            yield f"add.{number}.model", term.model
            if term.minus is not None:
                yield f"add.{number}.minus", term.minus

    def problems(self, body: ModelReference | None) -> Iterator[str]:
        for number, term in enumerate(self.add):
            if term.model == (term.minus or body):
                yield (
                    f"add.{number}: model and minus are both {reference_name(term.model)!r}, which"
                    " adds nothing; name another 'minus'"
                )


def apply(inputs: ChangeInputs, options: SumOptions) -> Changed:
    names = dict.fromkeys(reference_name(reference) for _, reference in options.given_models())
    operands = Operands.of(inputs.body, {name: inputs.others[name] for name in names})

    def add(body: Tensor, others: Mapping[str, Tensor]) -> Tensor:
        total = body
        for term in options.add:
            minus = others[reference_name(term.minus)] if term.minus else body
            total = total + term.weight * (others[reference_name(term.model)] - minus)
        return total

    def change(part: Part) -> Part | str:
        return operands.misfit(part) or operands.computed(part, lambda: add)

    body = inputs.body
    files, kept = changed_files(body, change)
    reasons_shown = some([f"{name} ({why})" for name, why in kept.items()])
    if not files:
        raise RevocabError(
            f"{body.path}: no tensor has the same shape in all models ({reasons_shown}); nothing"
            " can be added"
        )
    added = len(body.tensors) - len(kept)
    notes = [f"{added} of {added + len(kept)} tensors changed"]
    if kept:
        notes.append(f"{len(kept)} tensors kept from the model: {reasons_shown}")
    return Changed(
        files, body.config, {"changed_tensors": added, "kept_tensors": kept}, tuple(notes)
    )


CHANGE = Change(
    name="sum",
    summary="the sum of a model and of differences between others, over tensors of equal shape",
    citation="Ilharco et al. 2023, Editing Models with Task Arithmetic; Huang et al. 2024, Chat"
    " Vector",
    options=SumOptions,
    apply=apply,
)
