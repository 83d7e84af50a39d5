"""Export of weights that are sharded over processes (FSDP), one whole tensor at a time.

A model that was sharded because it fits no single process is put together for no single process
either: the first one writes, and holds the tensor that it is writing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from revocab.io import write_json
from revocab.models.findings import broken_rows
from revocab.models.token_rows import filled
from revocab.models.weights import (
    BLOCK_BYTES,
    FLOATS,
    INDEX,
    WEIGHTS,
    Part,
    tensor_bytes,
    write_parts,
)
from revocab.output import OutputFolder
from revocab.training.outputs.checkpoints import KIND, not_finite, write_companions

if TYPE_CHECKING:
    import torch

#: Largest file of weights, in bytes: that of transformers' own folders.
FILE_BYTES = 5 * 10**9
#: What activation checkpointing puts into the names of what it wraps.
WRAPPER = "_checkpoint_wrapped_module."


def sharded_weights(model: Any) -> dict[str, Any]:
    from torch.distributed.checkpoint.state_dict import get_model_state_dict

    own = [*model.named_parameters(), *model.named_buffers()]
    named = {name.replace(WRAPPER, "") for name, _ in own}
    return {name: shard for name, shard in get_model_state_dict(model).items() if name in named}


def export_sharded(
    weights: Mapping[str, Any],
    dtype: torch.dtype,
    source_folder: Path,
    target_folder: Path,
    *,
    writes: bool,
    file_bytes: int = FILE_BYTES,
    padded: Mapping[str, int] = MappingProxyType({}),
    texts: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write sharded ``weights``, cast to ``dtype``, with the companions of ``source_folder``.

    The padding of ``padded`` matrices, by name with their rows of tokens, is filled anew
    (:mod:`revocab.models.token_rows`). ``texts`` are files beside them, by name. Every
    process calls this; the one that ``writes`` makes the folder. Raises :class:`RevocabError` in
    all of them, and writes nothing, if a weight is not finite, or is not
    once it is cast.
    """
    _check_finite(weights, dtype, target_folder)
    files = in_files(weights, dtype, file_bytes, padded)
    if not writes:
        for parts in files.values():
            for part in parts:
                for _ in part.blocks(BLOCK_BYTES):
                    pass
        return
    with OutputFolder(target_folder, KIND, [source_folder]).replaced(part=True) as temporary:
        for name, parts in files.items():
            write_parts(temporary / name, parts, {"format": "pt"})
        if len(files) > 1:
            total = sum(part.size for parts in files.values() for part in parts)
            places = {part.name: name for name, parts in files.items() for part in parts}
            index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(places.items()))}
            write_json(temporary / INDEX, index)
        write_companions(source_folder, temporary, texts)


def in_files(
    weights: Mapping[str, Any], dtype: torch.dtype, file_bytes: int, padded: Mapping[str, int]
) -> dict[str, list[Part]]:
    groups: list[list[Part]] = [[]]
    size = 0
    for name, tensor in weights.items():
        part = part_of(name, tensor, dtype, padded.get(name))
        if groups[-1] and size + part.size > file_bytes:
            groups.append([])
            size = 0
        groups[-1].append(part)
        size += part.size
    if len(groups) == 1:
        return {WEIGHTS: groups[0]}
    return {
        f"model-{number:05d}-of-{len(groups):05d}.safetensors": parts
        for number, parts in enumerate(groups, 1)
    }


def part_of(name: str, tensor: Any, dtype: torch.dtype, tokens: int | None = None) -> Part:
    """Return a sharded tensor as a part of a file; its bytes are gathered when they are asked for.

    Rows after the first ``tokens`` are padding, and filled anew.
    All processes must ask for the same parts in the same order.
    """
    stored = dtype if tensor.is_floating_point() else tensor.dtype
    names = {f"torch.{value}": key for key, value in FLOATS.items()}
    known = {**names, "torch.int64": "I64", "torch.int32": "I32", "torch.bool": "BOOL"}
    size = math.prod(tensor.shape) * stored.itemsize

    def blocks(most: int) -> Iterator[memoryview]:
        whole = (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).detach()
        if tokens is not None:
            whole = filled(whole, tokens)
        data = tensor_bytes(whole.to("cpu", stored))
        for start in range(0, len(data), most):
            yield data[start : start + most]

    return Part(name, known[str(stored)], list(tensor.shape), size, blocks)


def _check_finite(weights: Mapping[str, Any], dtype: torch.dtype, folder: Path) -> None:
    """Raise :class:`RevocabError` in all processes if the shard of any of them is not finite."""
    import torch

    diverged, too_large = set(), set()
    for name, tensor in weights.items():
        own = (tensor.to_local() if hasattr(tensor, "to_local") else tensor).detach()
        if broken_rows(own):
            diverged.add(name)
        elif own.is_floating_point() and broken_rows(own.to(dtype)):
            too_large.add(name)
    broken: list[Any] = [(diverged, too_large)]
    if torch.distributed.is_initialized():
        broken = [None] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(broken, (diverged, too_large))
    names = sorted(set[str]().union(*(name for pair in broken for name in pair)))
    if names:
        raise not_finite(folder, ", ".join(names), dtype, diverged=any(rows for rows, _ in broken))
