"""Safetensors files tensor by tensor: read one, or rewrite a file with a few tensors replaced."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from revocab.models.safetensors_header import read_header
from revocab.models.safetensors_parts import BLOCK_BYTES, stored_parts, write_parts

if TYPE_CHECKING:
    import torch


def read_tensor(path: Path, name: str) -> torch.Tensor:
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
        rows = max(1, BLOCK_BYTES // max(1, 4 * math.prod(shape[1:])))
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


def rewrite(
    source: Path,
    out: Path,
    replace: dict[str, torch.Tensor | None],
    advance: Callable[[int], object] = bool,
) -> None:
    """Write ``source`` to ``out`` with some tensors replaced (same dtype) or dropped (``None``).

    All other tensors are copied as bytes, in blocks: memory does not grow with the file. Tensors
    keep the file's order, so that nothing becomes less aligned than it was. ``advance`` is told how
    many bytes were written.
    """
    parts, metadata = stored_parts(source)
    new = {name: parts[name].replaced(one) for name, one in replace.items() if one is not None}
    kept = [
        new.get(name, part) for name, part in parts.items() if replace.get(name, ()) is not None
    ]
    write_parts(out, kept, metadata, advance)
