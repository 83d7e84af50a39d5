"""A sum of differences: body + Σ weight · (model − minus), tensor by tensor.

What instruction tuning changed in one model can so be laid on another one of the same shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from pydantic import Field

from revocab.closed import Closed
from revocab.errors import RevocabError
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
from revocab.models.weights.files import FLOATS, Part, stored_parts, tensor_bytes

if TYPE_CHECKING:
    import torch

    from revocab.models.folder import ModelFolder

#: Buffers that old checkpoints store and no architecture reads.
_BUFFER = ".rotary_emb.inv_freq"
#: Tensors that a message names.
_SHOWN = 5


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


@dataclass(frozen=True)
class Operand:
    """A model whose tensors are added up."""

    #: As a message calls it.
    name: str
    folder: ModelFolder

    def stored(self, tensor: str) -> str:
        """Return the stored name of a tensor; a stored copy of a tied matrix is that matrix."""
        if tensor in self.folder.tied_copies:
            return self.folder.vocabulary_tensors["input"]
        return tensor

    @cached_property
    def names(self) -> set[str]:
        """Return the names of all tensors that are no copies of others, and no buffers."""
        copies = self.folder.tied_copies
        return {
            name
            for name in self.folder.tensors
            if name not in copies and not name.endswith(_BUFFER)
        }

    @cached_property
    def _parts(self) -> dict[str, Part]:
        folder = self.folder
        files = (stored_parts(folder.path / file)[0] for file in folder.files)
        return {name: part for parts in files for name, part in parts.items()}

    def blocks(self, name: str, values: int) -> Iterator[torch.Tensor]:
        """Yield a tensor's values in order, at most so many at a time, in its stored dtype."""
        import torch

        part, dtype = self._parts[name], torch_dtype(self._parts[name])
        for block in part.blocks(values * dtype.itemsize):
            yield torch.frombuffer(bytearray(block), dtype=dtype)

    @cached_property
    def tokens(self) -> dict[int, str]:
        from revocab.tokenizers.load import load_tokenizer

        vocabulary = load_tokenizer(self.folder.path).get_vocab()
        return {number: token for token, number in vocabulary.items()}


@dataclass(frozen=True)
class Sum:
    """The body and what is added to it."""

    body: Operand
    #: The models of all terms, each once, by name.
    operands: Mapping[str, Operand]
    terms: Sequence[Term]

    def problems(self) -> Iterator[str]:
        """Yield why the models cannot be added up: quantised, or not of one architecture."""
        for operand in (self.body, *self.operands.values()):
            if "quantization_config" in operand.folder.config:
                yield (
                    f"{operand.folder.path}: its weights are quantised and cannot be added; use the"
                    " unquantised model"
                )
        body = self.body.folder
        for operand in self.operands.values():
            where = f"{operand.folder.path}: cannot be added to {body.path}"
            if operand.folder.tied != body.tied:
                here, there = (
                    "one matrix" if tied else "two" for tied in (operand.folder.tied, body.tied)
                )
                yield (
                    f"{where}: the LM head and the embedding are {here} here, and {there} there;"
                    " use models of the same kind"
                )
                continue
            different = sorted(operand.names ^ self.body.names)
            if different:
                listed = ", ".join(different[:_SHOWN])
                yield (
                    f"{where}: {len(different)} tensors are in only one of them ({listed}"
                    f"{' …' * (len(different) > _SHOWN)}); take models with the same blocks"
                )

    def kept(self, part: Part) -> str | None:
        """Return why a tensor stays as it is in the body; None if it is added up."""
        if part.dtype not in FLOATS or part.dtype.startswith("F8"):
            return f"stored as {part.dtype}"
        if part.name.endswith(_BUFFER):
            return "a buffer that nothing reads"
        name = self.body.stored(part.name)
        for operand in self.operands.values():
            _, shape = operand.folder.tensors[name]
            if shape != list(part.shape):
                return f"{_by(part.shape)} here, {_by(shape)} in {operand.name}"
            if name in self.body.folder.vocabulary_tensors.values():
                own, other = self.body.tokens, operand.tokens
                moved = sum(own[number] != other[number] for number in own.keys() & other.keys())
                if moved:
                    return f"{moved} of {len(own)} ids stand for different tokens in {operand.name}"
        return None

    def blocks(self, part: Part, most: int) -> Iterator[memoryview]:
        """Yield the bytes of a tensor's sum, computed in float32 and rounded once."""
        import torch

        name, dtype = self.body.stored(part.name), torch_dtype(part)
        wide = torch.promote_types(dtype, torch.float32)
        values = most // dtype.itemsize
        read = [operand.blocks(name, values) for operand in (self.body, *self.operands.values())]
        for parts in zip(*read, strict=True):
            body, *others = (block.to(wide) for block in parts)
            value = dict(zip(self.operands, others, strict=True))
            total = body
            for term in self.terms:
                minus = value[reference_name(term.minus)] if term.minus else body
                total = total + term.weight * (value[reference_name(term.model)] - minus)
            result = total.to(dtype)
            if not torch.isfinite(result).all():
                raise RevocabError(
                    f"{self.body.folder.path}: {part.name}: the sum is too large for {dtype}, in"
                    " which it is stored; lower the weights, or save the model in float32"
                )
            yield tensor_bytes(result)


def torch_dtype(part: Part) -> torch.dtype:
    import torch

    return getattr(torch, FLOATS[part.dtype])


def _by(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape)) or "a scalar"


def apply(inputs: ChangeInputs, options: SumOptions) -> Changed:
    named = [reference for term in options.add for reference in (term.model, term.minus)]
    names = dict.fromkeys(reference_name(reference) for reference in named if reference)
    operands = {name: Operand(repr(name), inputs.others[name]) for name in names}
    whole = Sum(Operand("the body", inputs.body), operands, options.add)
    problems = list(whole.problems())
    if problems:
        raise RevocabError(problems)
    body, added = inputs.body, 0
    kept: dict[str, str] = {}
    files: dict[str, list[Part]] = {}
    for file in body.files:
        parts, _ = stored_parts(body.path / file)
        reasons = {name: whole.kept(part) for name, part in parts.items()}
        kept |= {name: why for name, why in reasons.items() if why is not None}
        if None in reasons.values():
            files[file] = [
                part if reasons[name] else replace(part, blocks=partial(whole.blocks, part))
                for name, part in parts.items()
            ]
            added += sum(why is None for why in reasons.values())
    reasons_shown = some([f"{name} ({why})" for name, why in kept.items()])
    if not added:
        raise RevocabError(
            f"{body.path}: no tensor has the same shape in all models ({reasons_shown}); nothing"
            " can be added"
        )
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
