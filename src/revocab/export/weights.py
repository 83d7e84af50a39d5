"""A model's tensors on their way into a GGUF: one at a time, in an order that no sharding changes.

Matrices have the type that is asked for, all else is float32. Rows of padding are cut off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from revocab.errors import RevocabError, refuse
from revocab.export.architecture import Architecture
from revocab.models.folder import ModelFolder

if TYPE_CHECKING:
    import torch
    from gguf import GGMLQuantizationType

#: Buffers of older checkpoints, which are computed again.
BUFFERS = ("rotary_emb.inv_freq", "attn.bias", "attn.masked_bias")
#: Values that a block of q8_0 holds.
BLOCK = 32
STORED = {"F64": "f32", "F32": "f32", "F16": "f16", "BF16": "bf16"}


@dataclass(frozen=True)
class Tensor:
    """One tensor of a GGUF."""

    name: str
    shape: tuple[int, ...]
    kind: GGMLQuantizationType
    read: Callable[[], torch.Tensor]

    @property
    def bytes(self) -> int:
        from gguf.constants import GGML_QUANT_SIZES

        values, size = GGML_QUANT_SIZES[self.kind]
        return int(np.prod(self.shape)) // values * size

    def array(self) -> Any:
        from gguf import GGMLQuantizationType, quantize

        values = self.read().float().contiguous().numpy()
        if self.kind == GGMLQuantizationType.F32:
            return values
        # NumPy warns of what the next line refuses.
        with np.errstate(over="ignore"):
            stored = quantize(values, self.kind)
        if self.kind == GGMLQuantizationType.F16 and np.isinf(stored).any():
            raise RevocabError(
                f"{self.name}: holds {np.abs(values).max():.3g}, which float16 does not; give"
                " --outtype bf16"
            )
        return stored


def stored_type(folder: ModelFolder) -> str:
    """Return the outtype of a model's embedding as it is stored.

    Raises :class:`RevocabError` for one of a type with less than two bytes.
    """
    name = folder.vocabulary_tensors["input"]
    dtype = folder.parts[folder.tensors[name][0]][name].dtype
    if dtype not in STORED:
        raise RevocabError(
            f"{folder.path}: {name} is stored as {dtype}; allowed are F16, BF16, F32"
        )
    return STORED[dtype]


def tensors_of(
    folder: ModelFolder, architecture: Architecture, settings: Any, tokens: int, outtype: str
) -> Iterator[Tensor]:
    """Yield the tensors, embedding first, then the layers.

    Raises :class:`RevocabError` with all tensors that llama.cpp's architecture does not have.
    """
    import gguf

    types = gguf.GGMLQuantizationType
    kind = types[outtype.upper()]
    number = next(key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture.name)
    names = gguf.get_tensor_name_map(number, settings.num_hidden_layers)
    matrices = {*folder.vocabulary_tensors.values()}
    placed: dict[str, str] = {}
    unknown = []
    for name in folder.tensors:
        if name in folder.tied_copies or name.endswith(BUFFERS):
            continue
        there = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if there is None:
            unknown.append(name)
        else:
            placed[there] = name
    refuse(
        f"{folder.path}: {name}: llama.cpp's {architecture.name} has no such tensor"
        for name in sorted(unknown)
    )

    def made(there: str, name: str) -> Tensor:
        _, shape = folder.tensors[name]
        rows = min(tokens, shape[0]) if name in matrices else shape[0]
        full = (rows, *shape[1:])

        def read() -> torch.Tensor:
            return architecture.stored(folder.read(name)[:rows], name, settings)

        fits = kind != types.Q8_0 or shape[-1] % BLOCK == 0
        matrix = kind if fits else types.F16
        return Tensor(there, full, matrix if len(shape) > 1 else types.F32, read)

    for there, tensor in architecture.tensors(settings).items():
        yield Tensor(there, tuple(tensor.shape), types.F32, tensor.float)
    for there in sorted(placed, key=in_order):
        yield made(there, placed[there])


def in_order(name: str) -> tuple[int, str]:
    layer = re.match(r"blk\.(\d+)\.", name)
    return (int(layer[1]) if layer else -1, name)
