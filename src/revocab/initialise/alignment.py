"""SAVA's map from helper rows to source rows: scaling, an affine map by three solvers, back again.

Moroni et al. 2025, section 3.1 and appendix A; the steps are those of the released code, which
builds them from the ``latentis`` library (tests/parity/test_latentis.py holds them together).
Suffixes: X helper width, Y source width, N anchors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

#: Anchor rows taken to float64 at once.
CHUNK_ROWS = 4096


@dataclass(frozen=True)
class Scaling:
    """Standardise each dimension by anchor statistics, then set every row's L2 norm to 1.

    The way back multiplies by the anchors' mean norm: a row's own norm is lost, as published.
    """

    mean_D: torch.Tensor
    scale_D: torch.Tensor
    mean_norm: torch.Tensor

    @classmethod
    def fit(cls, anchors_ND: torch.Tensor) -> Scaling:
        """Take the statistics of the anchors (unbiased deviation; near-constant dimensions: 1)."""
        import torch

        mean_D = anchors_ND.mean(dim=0)
        single = len(anchors_ND) < 2  # one anchor has no deviation
        scale_D = torch.ones_like(mean_D) if single else anchors_ND.std(dim=0)
        scale_D = scale_D.masked_fill(scale_D < 10 * torch.finfo(anchors_ND.dtype).eps, 1.0)
        mean_norm = ((anchors_ND - mean_D) / scale_D).norm(dim=1).mean()
        return cls(mean_D, scale_D, mean_norm)

    def forward(self, rows_ND: torch.Tensor) -> torch.Tensor:
        """Return the rows standardised and at norm 1."""
        import torch

        return torch.nn.functional.normalize((rows_ND - self.mean_D) / self.scale_D, dim=1)

    def backward(self, rows_ND: torch.Tensor) -> torch.Tensor:
        """Return the rows in the original units, at the anchors' mean norm."""
        return rows_ND * self.mean_norm * self.scale_D + self.mean_D


@dataclass(frozen=True)
class AffineMap:
    """``y = x @ weight_XY + bias_Y``."""

    weight_XY: torch.Tensor
    bias_Y: torch.Tensor

    def __call__(self, rows_NX: torch.Tensor) -> torch.Tensor:
        """Return the mapped rows."""
        return rows_NX @ self.weight_XY + self.bias_Y


def linear_start(width_x: int, width_y: int, seed: int) -> AffineMap:
    """Return the weights that the released code's ``nn.Linear`` starts from, without the padding.

    The release pads the narrower side with zeros, so its layer is square, and its initial scale is
    that of the wider side. Padded inputs get no gradient and padded outputs are cut off: only the
    kept block matters, but it must be cut from the full draw to hold the same numbers.
    """
    import torch

    width = max(width_x, width_y)
    generator = torch.Generator().manual_seed(seed)
    # Kaiming uniform with a = sqrt(5), in the order of operations of torch.nn.init: same floats.
    bound = math.sqrt(3.0) * (math.sqrt(2.0 / (1 + math.sqrt(5) ** 2)) / math.sqrt(width))
    weight = torch.empty(width, width).uniform_(-bound, bound, generator=generator)
    bound = 1 / math.sqrt(width)
    bias = torch.empty(width).uniform_(-bound, bound, generator=generator)
    return AffineMap(weight[:width_y, :width_x].T.contiguous(), bias[:width_y].clone())


def _chunks(x_NX: torch.Tensor, y_NY: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for start in range(0, len(x_NX), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        yield x_NX[rows].double(), y_NY[rows].double()


def gram(x_NX: torch.Tensor, y_NY: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return float64 ``G = X1'X1`` and ``R = X1'Y`` where X1 is x with a column of ones."""
    import torch

    width_x, width_y = x_NX.shape[1], y_NY.shape[1]
    gram_PP = x_NX.new_zeros(width_x + 1, width_x + 1, dtype=torch.float64)
    right_PY = x_NX.new_zeros(width_x + 1, width_y, dtype=torch.float64)
    for x, y in _chunks(x_NX, y_NY):
        gram_PP[:-1, :-1].addmm_(x.T, x)
        sums_X = x.sum(0)
        gram_PP[-1, :-1] += sums_X
        gram_PP[:-1, -1] += sums_X
        right_PY[:-1].addmm_(x.T, y)
        right_PY[-1] += y.sum(0)
    gram_PP[-1, -1] = len(x_NX)
    return gram_PP, right_PY


def fit_sgd(
    x_NX: torch.Tensor,
    y_NY: torch.Tensor,
    *,
    steps: int,
    learning_rate: float,
    seed: int,
    progress: bool = False,
) -> AffineMap:
    """Fit by full-batch Adam on the mean squared error, as published, with cheap gradients.

    The gradient of the squared error is ``G @ theta - R``, whose cost does not grow with the
    anchors; these are the iterates of the direct loop up to rounding. With few anchors
    ``X1' (X1 @ theta - Y)`` is cheaper and is used.
    """
    import torch
    from tqdm import tqdm

    width_x, width_y = x_NX.shape[1], y_NY.shape[1]
    start = linear_start(width_x, width_y, seed)
    theta_PY = torch.cat([start.weight_XY, start.bias_Y[None]]).to(x_NX.device, x_NX.dtype)
    theta_PY.grad = torch.empty_like(theta_PY)
    # The release averages over the padded columns too: Adam undoes the factor, but for its epsilon.
    factor = 2 / (len(x_NX) * max(width_x, width_y))
    few = 2 * len(x_NX) < width_x
    if few:
        ones_N1 = x_NX.new_ones(len(x_NX), 1)
        x1_NP = torch.cat([x_NX, ones_N1], dim=1)
    else:
        gram_PP, right_PY = (m.mul_(factor).to(x_NX.dtype) for m in gram(x_NX, y_NY))
    optimizer = torch.optim.Adam([theta_PY], lr=learning_rate, fused=True)
    for _ in tqdm(range(steps), desc="sava sgd", disable=not progress, mininterval=2):
        if few:
            torch.mm(x1_NP.T, x1_NP @ theta_PY - y_NY, out=theta_PY.grad)
            theta_PY.grad.mul_(factor)
        else:
            torch.addmm(right_PY, gram_PP, theta_PY, beta=-1, out=theta_PY.grad)
        optimizer.step()
    return AffineMap(theta_PY[:-1], theta_PY[-1])


def fit_lstsq(x_NX: torch.Tensor, y_NY: torch.Tensor, ridge: float = 0.0) -> AffineMap:
    """Return the exact minimiser of ``sum |x W + b - y|^2 + ridge |W|^2`` (float64 inside).

    Centred normal equations and Cholesky; where the anchors do not determine W (fewer than
    dimensions, or dependent), the minimiser of least norm, by eigendecomposition.
    """
    import torch

    gram_PP, right_PY = gram(x_NX, y_NY)
    count = len(x_NX)
    mean_X, mean_Y = gram_PP[-1, :-1] / count, right_PY[-1] / count
    gram_XX = gram_PP[:-1, :-1] - count * torch.outer(mean_X, mean_X)
    right_XY = right_PY[:-1] - count * torch.outer(mean_X, mean_Y)
    gram_XX.diagonal().add_(ridge)
    factor_XX, failed = torch.linalg.cholesky_ex(gram_XX)
    pivots_X = factor_XX.diagonal()
    # Squared pivots bound the condition number from below: beyond 1e10 the digits are gone.
    if not failed and pivots_X.min() > 1e-5 * pivots_X.max():
        weight_XY = torch.cholesky_solve(right_XY, factor_XX)
    else:
        values_X, vectors_XX = torch.linalg.eigh(gram_XX)
        limit = values_X.max().clamp(min=0) * len(values_X) * torch.finfo(torch.float64).eps
        inverse_X = torch.where(values_X > limit, 1 / values_X, 0.0)
        weight_XY = vectors_XX @ (inverse_X[:, None] * (vectors_XX.T @ right_XY))
    bias_Y = mean_Y - mean_X @ weight_XY
    return AffineMap(weight_XY.to(x_NX.dtype), bias_Y.to(x_NX.dtype))


def fit_procrustes(x_NX: torch.Tensor, y_NY: torch.Tensor) -> AffineMap:
    """Return the orthogonal map closest to the data, ``U V'`` of ``X'Y = U S V'``; no bias.

    Widths may differ: the map then has orthonormal rows or columns.
    """
    import torch

    right_XY = sum(x.T @ y for x, y in _chunks(x_NX, y_NY))
    left_XK, _, right_KY = torch.linalg.svd(right_XY, full_matrices=False)
    weight_XY = (left_XK @ right_KY).to(x_NX.dtype)
    return AffineMap(weight_XY, weight_XY.new_zeros(weight_XY.shape[1]))
