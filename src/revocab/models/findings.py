"""What is wrong with a model folder: findings, and those on weights that are not finite."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from revocab.heavy_types import Tensor
from revocab.models.weights import BLOCK_BYTES, FLOATS, stored_parts

#: Of an error something fails or computes nonsense; a warning is worth a look; a note is a fact.
Severity = Literal["error", "warning", "note"]
#: Tensors, and rows of each, that a message names.
_TENSORS, _ROWS = 5, 8


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, what it does to a user, and what mends it.

    :meth:`line` is what a :class:`RevocabError` says of it.
    """

    code: str
    severity: Severity
    what: str
    effect: str
    mend: str
    #: Mends it in a copy that ``revocab check --fix`` writes; none: only a guess could.
    fix: Callable[[Any], object] | None = field(default=None, compare=False)

    def line(self, place: object) -> str:
        return f"{place}: {self.what}; {self.effect}: {self.mend}"


def some(names: Collection[object], most: int = 5) -> str:
    more = len(names) - most
    listed = ", ".join(map(str, list(names)[:most]))
    return listed + (f" and {more:,} more" if more > 0 else "")


def some_tokens(ids: Collection[int], tokens: Sequence[str]) -> str:
    """Return the first ids, each with its token where there is one."""
    return some([f"{n} {tokens[n]!r}" if n < len(tokens) else n for n in ids])


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


class Values(NamedTuple):
    """The values of a stored tensor: its rows that are not finite, its largest magnitude."""

    name: str
    shape: Sequence[int]
    rows: list[int]
    #: None where it was not looked for, or where not every value is finite.
    largest: float | None


def scan(folder: Path, files: Iterable[str], magnitudes: bool = False) -> Iterator[Values]:
    """Yield what is seen of each floating-point tensor; every byte is read once.

    Raises :class:`RevocabError` for a file that is cut off.
    """
    import torch

    for name, part in (item for file in files for item in stored_parts(folder / file)[0].items()):
        if part.dtype not in FLOATS:
            continue
        dtype = getattr(torch, FLOATS[part.dtype])
        width, before, largest = max(1, math.prod(part.shape[1:])), 0, 0.0
        rows: set[int] = set()
        for block in part.blocks(BLOCK_BYTES):
            values_N = torch.frombuffer(bytearray(block), dtype=dtype)
            rows |= {*((_positions(values_N) + before) // width).tolist()}
            before += len(block) // dtype.itemsize
            if magnitudes and not rows:
                values_N = values_N.float() if dtype.itemsize == 1 else values_N
                largest = max(largest, *(abs(value.item()) for value in values_N.aminmax()))
        magnitude = largest if magnitudes and not rows else None
        yield Values(name, [*part.shape], sorted(rows), magnitude)


def _describe(broken: Mapping[str, tuple[list[int], int]], label: Callable[[str, int], str]) -> str:
    """Return in words which tensors are not finite: ``{name: (broken rows, number of rows)}``."""
    parts = []
    for name, (rows, count) in list(broken.items())[:_TENSORS]:
        first = ", ".join(label(name, row) for row in rows[:_ROWS]) + " …" * (len(rows) > _ROWS)
        parts.append(f"{name}, {len(rows)} of {count} rows ({first})")
    more = len(broken) - _TENSORS
    return "; ".join(parts) + (f"; and {more} more tensors" if more > 0 else "")


def finite_findings(
    tensors: Iterable[Values], label: Callable[[str, int], str] = lambda tensor, row: str(row)
) -> Iterator[Finding]:
    """Yield a finding if weights of a model folder are NaN or infinite, naming tensors and rows."""
    broken = {
        values.name: (values.rows, values.shape[0] if values.shape else 1)
        for values in tensors
        if values.rows
    }
    if broken:
        yield Finding(
            "not-finite", "error", f"weights that are NaN or infinite: {_describe(broken, label)}",
            "anything computed with them would be meaningless",
            "fetch or save the model again, or take another checkpoint",
        )  # fmt: skip


def tensor_problem(tensors: Mapping[str, Tensor]) -> str:
    """Say in words which tensors in memory are not finite; an empty text means that all are."""
    broken = {name: (broken_rows(tensor), len(tensor)) for name, tensor in tensors.items()}
    broken = {name: rows for name, rows in broken.items() if rows[0]}
    return _describe(broken, lambda tensor, row: str(row))
