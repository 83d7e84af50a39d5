"""Whether weights are finite, by tensor and row; files are read in blocks of constant size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from revocab.heavy_types import Tensor
from revocab.models.finding import Finding
from revocab.models.weights.files import BLOCK_BYTES, FLOATS, stored_parts

#: Tensors, and rows of each, that a message names.
_TENSORS, _ROWS = 5, 8


def _positions(values_N: Tensor) -> Tensor:
    """Return where a flat tensor is not finite, int64.

    NaN and infinity survive a sum, which costs a tenth of looking at every value. A sum of finite
    values may overflow: then every value is looked at after all.
    """
    import torch

    if values_N.element_size() == 1:
        values_N = values_N.float()  # torch does not add up 8-bit floats
    if math.isfinite(values_N.sum().item()):
        return torch.empty(0, dtype=torch.int64)
    return (~torch.isfinite(values_N)).nonzero()[:, 0]


def broken_rows(tensor: Tensor) -> list[int]:
    """Return the rows (first dimension) that hold NaN or infinity, sorted.

    ``tensor``: any shape, floating point; of a vector every value is a row.
    """
    if not tensor.dtype.is_floating_point:
        return []
    width = max(1, math.prod(tensor.shape[1:]))
    return (_positions(tensor.flatten()) // width).unique().tolist()


def _broken_in_file(path: Path) -> Iterator[tuple[str, list[int], int]]:
    """Yield name, broken rows and number of rows of every tensor of a file that is not finite."""
    import torch

    for name, part in stored_parts(path)[0].items():
        if part.dtype not in FLOATS:
            continue
        dtype = getattr(torch, FLOATS[part.dtype])
        width, before = max(1, math.prod(part.shape[1:])), 0
        rows: set[int] = set()
        for block in part.blocks(BLOCK_BYTES):
            positions = _positions(torch.frombuffer(bytearray(block), dtype=dtype))
            rows |= {*((positions + before) // width).tolist()}
            before += len(block) // dtype.itemsize
        if rows:
            yield name, sorted(rows), part.shape[0] if part.shape else 1


def _number(tensor: str, row: int) -> str:
    return str(row)


def describe(
    broken: Mapping[str, tuple[list[int], int]], label: Callable[[str, int], str] = _number
) -> str:
    """Return in words which tensors are not finite: ``{name: (broken rows, number of rows)}``."""
    parts = []
    for name, (rows, count) in list(broken.items())[:_TENSORS]:
        shown = ", ".join(label(name, row) for row in rows[:_ROWS]) + " …" * (len(rows) > _ROWS)
        parts.append(f"{name}, {len(rows)} of {count} rows ({shown})")
    more = len(broken) - _TENSORS
    return "; ".join(parts) + (f"; and {more} more tensors" if more > 0 else "")


def finite_findings(
    folder: Path, files: list[str], label: Callable[[str, int], str] = _number
) -> Iterator[Finding]:
    """Yield a finding if weights of a model folder are NaN or infinite, naming tensors and rows.

    Every byte is read once. Raises :class:`RevocabError` for a file that is cut off.
    """
    broken = {
        name: (rows, count)
        for file in files
        for name, rows, count in _broken_in_file(folder / file)
    }
    if broken:
        yield Finding(
            "not-finite", "error", f"weights that are NaN or infinite: {describe(broken, label)}",
            "anything computed with them would be meaningless",
            "fetch or save the model again, or take another checkpoint",
        )  # fmt: skip


def tensor_problem(tensors: Mapping[str, Tensor]) -> str:
    """Say in words which tensors in memory are not finite; an empty text means that all are."""
    broken = {name: (broken_rows(tensor), len(tensor)) for name, tensor in tensors.items()}
    return describe({name: rows for name, rows in broken.items() if rows[0]})
