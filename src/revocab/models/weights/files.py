"""Safetensors files, tensor by tensor: none of them is in memory as a whole.

A file has eight bytes of header length, a JSON header, and the tensors' bytes without gaps
(https://github.com/huggingface/safetensors#format). The library writes only whole dictionaries held
in memory. Here a file is a list of parts, whose bytes are asked for when their turn comes: copied
from another file, computed, or zeros.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.heavy_types import Tensor, ndarray

#: Bytes in memory at a time, of whole values; larger blocks leave the processor's cache.
BLOCK_BYTES = 1 << 24
#: Names of floating-point dtypes in torch; of other dtypes every value is finite.
FLOATS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """Return a file's header and the offset at which its tensors begin.

    The header may have ``__metadata__``; every other entry has ``dtype``, ``shape`` and
    ``data_offsets``. Raises :class:`RevocabError` for what the library refuses: a file cut short,
    a header that is not JSON, tensors outside the file, overlapping, or of other lengths than dtype
    and shape say.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy"):  # which does not import torch
            pass
    except SafetensorError as error:
        raise RevocabError(
            f"{path}: {error}; the file is damaged or was not written as safetensors: fetch it"
            " again"
        ) from None
    with path.open("rb") as handle:
        length = int.from_bytes(handle.read(8), "little")
        return json.loads(handle.read(length)), 8 + length


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
    blocks: Callable[[int], Iterable[bytes | bytearray | memoryview]]

    def zeroed(self) -> Part:
        def zeros(most: int) -> Iterator[bytes]:
            for start in range(0, self.size, most):
                yield bytes(min(most, self.size - start))

        return replace(self, blocks=zeros)

    def replaced(self, tensor: Tensor) -> Part:
        def in_memory(most: int) -> Iterator[memoryview]:
            stored = tensor_bytes(tensor)
            for start in range(0, len(stored), most):
                yield stored[start : start + most]

        size = tensor.numel() * tensor.element_size()
        return replace(self, shape=list(tensor.shape), size=size, blocks=in_memory)

    def gathered(self, rows_N: ndarray) -> Part:
        """Return some rows (first dimension) alone; ``rows_N`` are ascending."""
        import numpy as np

        width = self.size // self.shape[0]

        def picked(most: int) -> Iterator[memoryview]:
            step = max(1, most // width)
            for number, block in enumerate(self.blocks(step * width)):
                begin = number * step
                first, end = np.searchsorted(rows_N, (begin, begin + step))
                if first < end:
                    stored_NB = np.frombuffer(block, np.uint8).reshape(-1, width)
                    yield stored_NB[rows_N[first:end] - begin].reshape(-1).data

        shape = [len(rows_N), *self.shape[1:]]
        return replace(self, shape=shape, size=len(rows_N) * width, blocks=picked)


def tensor_bytes(tensor: Tensor) -> memoryview:
    import torch

    return tensor.contiguous().flatten().view(torch.uint8).numpy().data


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
    """Return the tensors of a file by name, in the order of their bytes, and its metadata."""
    header, data_start = read_header(path)
    metadata = header.pop("__metadata__", None)
    parts = {}
    ordered = sorted(header.items(), key=lambda item: (item[1]["data_offsets"], item[0]))
    for name, entry in ordered:
        begin, end = entry["data_offsets"]
        blocks = partial(_stored, path, data_start + begin, end - begin)
        parts[name] = Part(name, entry["dtype"], entry["shape"], end - begin, blocks)
    return parts, metadata


def write_parts(
    out: Path,
    parts: Iterable[Part],
    metadata: dict[str, str] | None = None,
    advance: Callable[[int], object] = bool,
) -> None:
    parts = list(parts)
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    position = 0
    for part in parts:
        header[part.name] = {
            "dtype": part.dtype,
            "shape": list(part.shape),
            "data_offsets": [position, position + part.size],
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


def replaced_parts(path: Path, tensors: Mapping[str, Tensor | None]) -> list[Part]:
    """Return a file's tensors in its order, some replaced (same dtype) or left out (``None``)."""
    parts, _ = stored_parts(path)
    new = {
        name: parts[name].replaced(tensor) for name, tensor in tensors.items() if tensor is not None
    }
    return [
        new.get(name, part) for name, part in parts.items() if tensors.get(name, ()) is not None
    ]


def read_tensor(path: Path, name: str) -> Tensor:
    from safetensors import safe_open

    with safe_open(path, framework="pt") as handle:
        return handle.get_tensor(name)


def equal_tensors(first: tuple[Path, str], second: tuple[Path, str]) -> bool:
    """Tell whether two stored tensors hold the same values, comparing blocks of rows."""
    import torch
    from safetensors import safe_open

    with safe_open(first[0], "pt") as here, safe_open(second[0], "pt") as there:
        parts = here.get_slice(first[1]), there.get_slice(second[1])
        (shape, dtype), other_form = ((part.get_shape(), part.get_dtype()) for part in parts)
        if (shape, dtype) != other_form:
            return False
        rows = max(1, BLOCK_BYTES // max(1, 4 * math.prod(shape[1:])))
        return all(
            torch.equal(*(part[at : at + rows] for part in parts))
            for at in range(0, shape[0], rows)
        )


def parameter_bytes(folder: Path, dtype: str) -> int | None:
    """Return the bytes of a folder's weights in ``dtype`` (``auto``: as stored), if any."""
    import torch

    total = 0
    for path in sorted(folder.glob("*.safetensors")):
        for part in stored_parts(path)[0].values():
            own = dtype == "auto"
            total += part.size if own else math.prod(part.shape) * getattr(torch, dtype).itemsize
    return total or None
