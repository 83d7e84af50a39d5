"""Models whose tensors a change computes with: what fits together, read block by block.

No tensor is in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from revocab.errors import RevocabError, refuse
from revocab.heavy_types import DType, Tensor
from revocab.models.folder import ModelFolder
from revocab.models.weights.files import FLOATS, Part, tensor_bytes
from revocab.tokenizers.load import load_tokenizer, some

#: From blocks of the same values, the body's first, all in the same wide dtype, to the result.
Formula = Callable[[Tensor, Mapping[str, Tensor]], Tensor]
#: Buffers that old checkpoints store and no architecture reads.
_BUFFER = ".rotary_emb.inv_freq"


@dataclass(frozen=True)
class Operand:
    """A model whose tensors are computed with."""

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
        copies = self.folder.tied_copies
        return {
            name
            for name in self.folder.tensors
            if name not in copies and not name.endswith(_BUFFER)
        }

    def blocks(self, name: str, values: int) -> Iterator[Tensor]:
        """Yield a tensor's values in order, at most so many at a time, in its stored dtype."""
        import torch

        part = self.folder.parts[self.folder.tensors[name][0]][name]
        dtype = torch_dtype(part)
        for block in part.blocks(values * dtype.itemsize):
            yield torch.frombuffer(bytearray(block), dtype=dtype)

    @property
    def vocabulary(self) -> Collection[str]:
        return self.folder.vocabulary_tensors.values()

    @cached_property
    def tokens(self) -> dict[int, str]:
        vocabulary = load_tokenizer(self.folder.path).get_vocab()
        return {number: token for token, number in vocabulary.items()}


@dataclass(frozen=True)
class Operands:
    """The model that is changed, and those that it is computed with, each once, by name."""

    body: Operand
    others: Mapping[str, Operand]

    @classmethod
    def of(cls, body: ModelFolder, others: Mapping[str, ModelFolder]) -> Operands:
        """Raise :class:`RevocabError` for models that are quantised, or not of one architecture."""
        operands = {name: Operand(repr(name), folder) for name, folder in others.items()}
        together = cls(Operand("the body", body), operands)
        refuse(together.problems())
        return together

    def problems(self) -> Iterator[str]:
        for operand in (self.body, *self.others.values()):
            if "quantization_config" in operand.folder.config:
                yield (
                    f"{operand.folder.path}: its weights are quantised and cannot be computed with;"
                    " use the unquantised model"
                )
        body = self.body.folder
        for operand in self.others.values():
            where = f"{operand.folder.path}: cannot be combined with {body.path}"
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
                yield (
                    f"{where}: {len(different)} tensors are in only one of them"
                    f" ({some(different, 5)}); take models with the same blocks"
                )

    def of_other_shape(self) -> Iterator[str]:
        """Yield tensors of another shape in another model, whatever their rows of tokens."""
        for name in sorted(self.body.names):
            first = int(name in self.body.vocabulary)
            shape = self.body.folder.tensors[name][1]
            for operand in self.others.values():
                other = operand.folder.tensors[name][1]
                if shape[first:] != other[first:]:
                    yield f"{name} ({_by(shape)} here, {_by(other)} in {operand.name})"

    def misfit(self, part: Part) -> str | None:
        if part.dtype not in FLOATS or part.dtype.startswith("F8"):
            return f"stored as {part.dtype}"
        if part.name.endswith(_BUFFER):
            return "a buffer that nothing reads"
        name = self.body.stored(part.name)
        for operand in self.others.values():
            _, shape = operand.folder.tensors[name]
            if shape != list(part.shape):
                return f"{_by(part.shape)} here, {_by(shape)} in {operand.name}"
            if name in self.body.vocabulary:
                own, other = self.body.tokens, operand.tokens
                moved = sum(own[number] != other[number] for number in own.keys() & other.keys())
                if moved:
                    return f"{moved} of {len(own)} ids stand for different tokens in {operand.name}"
        return None

    def wide_blocks(self, part: Part, values: int) -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
        """Yield the body's values of a tensor and the others' by name, at least as float32."""
        import torch

        name = self.body.stored(part.name)
        wide = torch.promote_types(torch_dtype(part), torch.float32)
        read = [one.blocks(name, values) for one in (self.body, *self.others.values())]
        for parts in zip(*read, strict=True):
            body, *others = (block.to(wide) for block in parts)
            yield body, dict(zip(self.others, others, strict=True))

    def computed(self, part: Part, formula: Callable[[], Formula]) -> Part:
        """Return a tensor computed by a formula, rounded once; ``formula()`` is asked when its turn
        comes.

        Raises :class:`RevocabError`, in its turn, for a value that its dtype cannot hold.
        """
        import torch

        dtype = torch_dtype(part)

        def blocks(most: int) -> Iterator[memoryview]:
            compute = formula()
            for body, others in self.wide_blocks(part, most // dtype.itemsize):
                result = compute(body, others).to(dtype)
                if not torch.isfinite(result).all():
                    raise RevocabError(
                        f"{self.body.folder.path}: {part.name}: the sum is too large for {dtype},"
                        " in which it is stored; lower the weights, or save the model in float32"
                    )
                yield tensor_bytes(result)

        return replace(part, blocks=blocks)


def changed_files(
    body: ModelFolder, change: Callable[[Part], Part | str]
) -> tuple[dict[str, list[Part]], dict[str, str]]:
    """Return the files in which ``change`` returns a tensor, and by tensor why others stay."""
    files: dict[str, list[Part]] = {}
    kept: dict[str, str] = {}
    for file, parts in body.parts.items():
        results = {name: change(part) for name, part in parts.items()}
        kept |= {name: why for name, why in results.items() if isinstance(why, str)}
        if any(isinstance(result, Part) for result in results.values()):
            files[file] = [
                parts[name] if isinstance(result, str) else result
                for name, result in results.items()
            ]
    return files, kept


def torch_dtype(part: Part) -> DType:
    import torch

    return getattr(torch, FLOATS[part.dtype])


def _by(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape)) or "a scalar"
