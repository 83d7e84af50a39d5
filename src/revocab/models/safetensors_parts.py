"""Write a safetensors file tensor by tensor, none of them in memory as a whole.

The library writes only whole dictionaries held in memory. Here a file is a list of parts, whose
bytes are asked for when their turn comes: copied from another file, computed, or zeros.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.models.safetensors_header import read_header

if TYPE_CHECKING:
    import torch

#: Bytes that are in memory at a time.
BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class Part:
    """One tensor of a file to write."""

    name: str
    #: As safetensors names it: ``BF16``.
    dtype: str
    shape: Sequence[int]
    #: In bytes.
    size: int
    #: Yields exactly ``size`` bytes in order, at most so many at a time.
    blocks: Callable[[int], Iterable[bytes | memoryview]]

    def renamed(self, name: str) -> Part:
        return replace(self, name=name)

    def zeroed(self) -> Part:
        """Return a tensor of the same dtype and shape that is zero."""
        return replace(self, blocks=partial(_zeros, self.size))

    def replaced(self, tensor: torch.Tensor) -> Part:
        """Return the part with a tensor in memory, of the same dtype and any shape."""
        size = tensor.numel() * tensor.element_size()
        blocks = partial(_in_memory, tensor)
        return replace(self, shape=list(tensor.shape), size=size, blocks=blocks)


def tensor_bytes(tensor: torch.Tensor) -> memoryview:
    """Return the bytes of a tensor on the CPU as a file stores them."""
    import torch

    return tensor.contiguous().flatten().view(torch.uint8).numpy().data


def _zeros(size: int, most: int) -> Iterator[bytes]:
    for start in range(0, size, most):
        yield bytes(min(most, size - start))


def _in_memory(tensor: torch.Tensor, most: int) -> Iterator[memoryview]:
    stored = tensor_bytes(tensor)
    for start in range(0, len(stored), most):
        yield stored[start : start + most]


def _stored(path: Path, start: int, length: int, most: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while length:
            block = file.read(min(most, length))
            if not block:
                raise RevocabError(f"{path}: ends before its header says; fetch it again")
            yield block
            length -= len(block)


def stored_parts(path: Path) -> tuple[dict[str, Part], dict[str, str] | None]:
    """Return the tensors of a file by name, in the order of their bytes, and its metadata.

    Nothing but the header is read.
    """
    header, data_start = read_header(path)
    metadata = header.pop("__metadata__", None)
    parts = {}
    for name in sorted(header, key=lambda one: (header[one]["data_offsets"], one)):
        entry = header[name]
        begin, end = entry["data_offsets"]
        size = end - begin
        blocks = partial(_stored, path, data_start + begin, size)
        parts[name] = Part(name, entry["dtype"], entry["shape"], size, blocks)
    return parts, metadata


def write_parts(
    out: Path,
    parts: Iterable[Part],
    metadata: dict[str, str] | None = None,
    advance: Callable[[int], object] = bool,
) -> None:
    """Write a safetensors file; ``advance`` is told how many bytes of tensors were written."""
    parts = list(parts)
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    position = 0
    for part in parts:
        offsets = [position, position + part.size]
        header[part.name] = {
            "dtype": part.dtype,
            "shape": list(part.shape),
            "data_offsets": offsets,
        }
        position += part.size
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with out.open("wb") as target:
        target.write(struct.pack("<Q", len(text)) + text)
        for part in parts:
            for block in part.blocks(BLOCK_BYTES):
                target.write(block)
                advance(len(block))
