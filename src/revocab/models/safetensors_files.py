"""Safetensors files tensor by tensor: read one, or rewrite a file with a few tensors replaced.

The library reads single tensors; it writes only whole dictionaries held in memory, so rewriting
goes through bytes here.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from revocab.errors import RevocabError
from revocab.models.safetensors_header import read_header

if TYPE_CHECKING:
    import torch

_COPY_BYTES = 1 << 24


def read_tensor(path: Path, name: str) -> torch.Tensor:
    """Return one tensor of a file, on the CPU, in its stored dtype."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as handle:
        return handle.get_tensor(name)


def equal_tensors(first: tuple[Path, str], second: tuple[Path, str]) -> bool:
    """Tell whether two stored tensors, each a file and a name, hold the same values.

    They are compared in blocks of rows, so that neither is in memory as a whole.
    """
    import torch
    from safetensors import safe_open

    with safe_open(first[0], "pt") as one, safe_open(second[0], "pt") as other:
        parts = one.get_slice(first[1]), other.get_slice(second[1])
        shape = parts[0].get_shape()
        if shape != parts[1].get_shape():
            return False
        rows = max(1, _COPY_BYTES // max(1, 4 * math.prod(shape[1:])))
        return all(
            torch.equal(*(part[at : at + rows] for part in parts))
            for at in range(0, shape[0], rows)
        )


def parameter_bytes(folder: Path, dtype: str) -> int | None:
    """Return the bytes of a model folder's weights once loaded in ``dtype``; ``auto``: as stored.

    Only the files' headers are read; a tied matrix is stored and counted once. None for a folder
    without such files.
    """
    import torch

    total = 0
    for path in sorted(folder.glob("*.safetensors")):
        header, _ = read_header(path)
        header.pop("__metadata__", None)
        for entry in header.values():
            begin, end = entry["data_offsets"]
            if dtype == "auto":
                total += end - begin
            else:
                total += math.prod(entry["shape"]) * getattr(torch, dtype).itemsize
    return total or None


def _tensor_bytes(tensor: torch.Tensor) -> memoryview:
    import torch

    return tensor.contiguous().flatten().view(torch.uint8).numpy().data


def _copy(
    source: BinaryIO, out: BinaryIO, start: int, length: int, advance: Callable[[int], object]
) -> None:
    source.seek(start)
    while length:
        block = source.read(min(_COPY_BYTES, length))
        if not block:
            raise RevocabError(f"{source.name}: ends before its header says; fetch it again")
        out.write(block)
        length -= len(block)
        advance(len(block))


def rewrite(
    source: Path,
    out: Path,
    replace: dict[str, torch.Tensor | None],
    advance: Callable[[int], object] = bool,
) -> None:
    """Write ``source`` to ``out`` with some tensors replaced (same dtype) or dropped (``None``).

    All other tensors are copied as bytes, in blocks: memory does not grow with the file.
    ``advance`` is told how many bytes were copied.
    """
    header, data_start = read_header(source)
    metadata = header.pop("__metadata__", None)
    # Tensors keep the file's order, so that nothing becomes less aligned than it was.
    names = sorted(header, key=lambda name: (header[name]["data_offsets"], name))
    names = [name for name in names if replace.get(name, ()) is not None]
    new_header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    position = 0
    for name in names:
        entry = dict(header[name])
        begin, end = entry["data_offsets"]
        length = end - begin
        tensor = replace.get(name)
        if tensor is not None:
            entry["shape"] = list(tensor.shape)
            length = tensor.numel() * tensor.element_size()
        entry["data_offsets"] = [position, position + length]
        new_header[name] = entry
        position += length
    text = json.dumps(new_header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with source.open("rb") as handle, out.open("wb") as target:
        target.write(struct.pack("<Q", len(text)) + text)
        for name in names:
            tensor = replace.get(name)
            if tensor is not None:
                target.write(_tensor_bytes(tensor))
            else:
                begin, end = header[name]["data_offsets"]
                _copy(handle, target, data_start + begin, end - begin, advance)
