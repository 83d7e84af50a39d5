"""Anchor rows block by block, and the scaling that SAVA puts before and after its map.

Moroni et al. 2025, section 3.1 and appendix A. Suffixes: N anchors, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from revocab.heavy_types import Device, DType, Tensor

#: Anchor rows that are gathered, scaled and multiplied at once.
CHUNK_ROWS = 2048
#: Rows that stay in the cache between two passes.
_CACHE_ROWS = 256


@dataclass(frozen=True)
class Scaling:
    """Standardise each dimension by anchor statistics, then set every row's L2 norm to 1.

    The way back multiplies by the anchors' mean norm: a row's own norm is lost, as published.
    """

    mean_D: Tensor
    scale_D: Tensor
    mean_norm: Tensor

    @classmethod
    def fit(cls, anchors_ND: Tensor | Rows) -> Scaling:
        """Take the anchors' statistics (unbiased; near-constant dimensions: 1) in one pass."""
        import torch

        count, dtype = len(anchors_ND), anchors_ND.dtype
        shift_D = anchors_ND[:_CACHE_ROWS].mean(0)
        sum_D, squares_D = (torch.zeros_like(shift_D, dtype=torch.float64) for _ in range(2))
        for chunk in chunks(anchors_ND, _CACHE_ROWS):
            part = chunk - shift_D
            sum_D += part.sum(0)
            squares_D += part.square_().sum(0)
        mean_D = (shift_D + sum_D / count).to(dtype)
        if count < 2:  # one anchor has no deviation
            scale_D = torch.ones_like(mean_D)
        else:
            variance_D = (squares_D - sum_D.square() / count) / (count - 1)
            scale_D = variance_D.clamp(min=0).sqrt().to(dtype)
            scale_D = scale_D.masked_fill(scale_D < 10 * torch.finfo(dtype).eps, 1.0)
        norms = sum(
            chunk.sub(mean_D).div_(scale_D).norm(dim=1).double().sum()
            for chunk in chunks(anchors_ND, _CACHE_ROWS)
        )
        return cls(mean_D, scale_D, (norms / count).to(dtype))

    def forward(self, rows_ND: Tensor) -> Tensor:
        scaled_ND = rows_ND.sub(self.mean_D).div_(self.scale_D)
        return scaled_ND.div_(scaled_ND.norm(dim=1, keepdim=True).clamp_(min=1e-12))

    def backward(self, rows_ND: Tensor) -> Tensor:
        """Return the rows in the original units, at the anchors' mean norm."""
        return rows_ND.mul(self.mean_norm * self.scale_D).add_(self.mean_D)


@dataclass(frozen=True)
class Rows:
    """Rows of a matrix by id, gathered (and scaled) when a slice of them is asked for.

    Stands in for the tensor ``scaling.forward(matrix_VD[ids_N])``, which is never held as a whole.
    """

    matrix_VD: Tensor
    ids_N: Tensor
    scaling: Scaling | None = None
    #: Whether rows are widened to float64 before they are scaled.
    double: bool = False

    def __len__(self) -> int:
        return len(self.ids_N)

    def __getitem__(self, rows: slice | Tensor) -> Tensor:
        rows_ND = self.matrix_VD[self.ids_N[rows]].to(self.dtype)
        return rows_ND if self.scaling is None else self.scaling.forward(rows_ND)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.ids_N), self.matrix_VD.shape[1]

    @property
    def dtype(self) -> DType:
        import torch

        return torch.float64 if self.double else self.matrix_VD.dtype

    @property
    def device(self) -> Device:
        return self.matrix_VD.device

    def take(self, positions_N: Tensor) -> Rows:
        return replace(self, ids_N=self.ids_N[positions_N])


def chunks(rows_ND: Tensor | Rows, size: int | None = None) -> Iterator[Tensor]:
    size = size or CHUNK_ROWS
    for start in range(0, len(rows_ND), size):
        yield rows_ND[start : start + size]


def map_rows(rows_ND: Tensor | Rows, function: Callable[[Tensor], Tensor], out_N: Tensor) -> Tensor:
    """Return ``out_N``, its rows set to the function of chunks of ``rows_ND``.

    They are placed as they come: small tensors that are kept where a chunk was would keep the
    allocator from using its memory for the next one, and memory would grow with the matrix.
    """
    start = 0
    for chunk_ND in chunks(rows_ND):
        out_N[start : start + len(chunk_ND)] = function(chunk_ND)
        start += len(chunk_ND)
    return out_N
