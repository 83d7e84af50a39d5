"""SAVA's map from helper rows to source rows: rows block by block, scaled, and three solvers.

Moroni et al. 2025, section 3.1 and appendix A; the steps are those of the released code, which
builds them from the ``latentis`` library (tests/parity/test_latentis.py holds them together).
Anchors are tensors or :class:`Rows`, which are read in chunks.
Suffixes: X helper width, Y source width, D either, N anchors, P helper width and a bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from revocab.heavy_types import Device, DType, Tensor

#: Anchor rows that are gathered, scaled and multiplied at once.
CHUNK_ROWS = 2048
#: Rows that stay in the cache between two passes.
_CACHE_ROWS = 256
#: Tokens that a map's error is measured on, at most.
MEASURED = 2048
#: Relative error of least squares up to which products with the source rows, two thirds of the
#: work, may be float32: the condition number of the anchors bounds it.
TOLERANCE = 1e-4
#: Condition number of the anchors' Gram matrix from which on they do not determine the map.
SINGULAR = 1e10


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
    """The tensor ``scaling.forward(matrix_VD[ids_N])``, of which slices are computed when read."""

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


@dataclass(frozen=True)
class AffineMap:
    """``y = x @ weight_XY + bias_Y``."""

    weight_XY: Tensor
    bias_Y: Tensor

    def __call__(self, rows_NX: Tensor) -> Tensor:
        return rows_NX.to(self.weight_XY.dtype) @ self.weight_XY + self.bias_Y


def linear_start(width_x: int, width_y: int, seed: int) -> AffineMap:
    """Return the weights that the released code's ``nn.Linear`` starts from, without the padding.

    The release pads the narrower side with zeros: its layer is square, with the wider side's scale.
    Padding gets no gradient, but the block is cut from the full draw, to hold the same numbers.
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


class Normal(NamedTuple):
    """What least squares needs of the anchors: ``G = X1'X1`` and ``R = X1'Y``, float64.

    X1 is x with a column of ones, so that the last row of either holds sums.
    """

    gram_PP: Tensor
    right_PY: Tensor

    @classmethod
    def of(cls, x_NX: Tensor | Rows, y_NY: Tensor | Rows) -> Normal:
        return cls(gram(x_NX), cross(x_NX, y_NY))


def gram(x_NX: Tensor | Rows) -> Tensor:
    """Return ``X1'X1`` in float64, summed over chunks of anchors."""
    import torch

    width = x_NX.shape[1]
    gram_PP = torch.zeros(width + 1, width + 1, dtype=torch.float64, device=x_NX.device)
    for chunk in chunks(x_NX):
        part = chunk.double()
        if part.is_cpu:
            # numpy sees that the product is symmetric and computes half of it; torch does not.
            array = part.numpy(force=True)
            gram_PP[:-1, :-1] += torch.from_numpy(array.T @ array)
        else:
            gram_PP[:-1, :-1].addmm_(part.T, part)
        gram_PP[-1, :-1] += part.sum(0)
    gram_PP[:-1, -1] = gram_PP[-1, :-1]
    gram_PP[-1, -1] = len(x_NX)
    return gram_PP


def cross(x_NX: Tensor | Rows, y_NY: Tensor | Rows, *, exact: bool = True) -> Tensor:
    """Return ``X1'Y`` in float64, summed over chunks of anchors.

    Unless ``exact``, products within a chunk are those of the anchors' own dtype (float32).
    """
    import torch

    width_x, width_y = x_NX.shape[1], y_NY.shape[1]
    right_PY = torch.zeros(width_x + 1, width_y, dtype=torch.float64, device=x_NX.device)
    for x, y in zip(chunks(x_NX), chunks(y_NY), strict=True):
        right_PY[-1] += y.sum(0, dtype=torch.float64)
        if exact:
            right_PY[:-1].addmm_(x.double().T, y.double())
        else:
            right_PY[:-1] += x.T @ y
    return right_PY


def few_anchors(x_NX: Tensor | Rows) -> bool:
    """Tell whether gradients are cheaper from the anchors than from their Gram matrix."""
    return 2 * len(x_NX) < x_NX.shape[1]


def fit_sgd(
    x_NX: Tensor | Rows,
    y_NY: Tensor | Rows,
    *,
    steps: int,
    learning_rate: float,
    seed: int,
    progress: bool = False,
    normal: Normal | None = None,
) -> AffineMap:
    """Fit by full-batch Adam on the mean squared error, as published, with cheap gradients.

    The gradient of the squared error is ``G @ theta - R``, whose cost does not grow with the
    anchors; these are the iterates of the direct loop up to rounding. With few anchors
    ``X1' (X1 @ theta - Y)`` is cheaper and is used. ``normal``: G and R, where they are known.
    """
    import torch
    from tqdm import tqdm

    width_x, width_y = x_NX.shape[1], y_NY.shape[1]
    start = linear_start(width_x, width_y, seed)
    theta_PY = torch.cat([start.weight_XY, start.bias_Y[None]]).to(x_NX.device, x_NX.dtype)
    theta_PY.grad = torch.empty_like(theta_PY)
    # The release averages over the padded columns too: Adam undoes the factor, but for its epsilon.
    factor = 2 / (len(x_NX) * max(width_x, width_y))
    few = few_anchors(x_NX)
    if few:
        x_NX, dense_NY = x_NX[:], y_NY[:]
        x1_NP = torch.cat([x_NX, x_NX.new_ones(len(x_NX), 1)], dim=1)
    else:
        normal = normal or Normal.of(x_NX, y_NY)
        gram_PP = (normal.gram_PP * factor).to(x_NX.dtype)
        right_PY = (normal.right_PY * factor).to(x_NX.dtype)
    optimizer = torch.optim.Adam([theta_PY], lr=learning_rate, fused=True)
    for _ in tqdm(range(steps), desc="sava sgd", disable=not progress, mininterval=2):
        if few:
            torch.mm(x1_NP.T, x1_NP @ theta_PY - dense_NY, out=theta_PY.grad)
            theta_PY.grad.mul_(factor)
        else:
            torch.addmm(right_PY, gram_PP, theta_PY, beta=-1, out=theta_PY.grad)
        optimizer.step()
    return AffineMap(theta_PY[:-1], theta_PY[-1])


def largest_eigenvalue(multiply: Callable[[Tensor], Tensor], like_X: Tensor) -> float:
    """Return the largest eigenvalue of a positive matrix by power iteration, within some 10 %."""
    import torch

    generator = torch.Generator().manual_seed(0)
    vector_X1 = torch.randn(len(like_X), 1, generator=generator, dtype=torch.float64)
    vector_X1 = vector_X1.to(like_X.device)
    value = 0.0
    for _ in range(12):
        vector_X1 = multiply(vector_X1 / vector_X1.norm())
        value = float(vector_X1.norm())
    return value


class LeastSquares:
    """The left side of the normal equations, factorised: one helper matrix, any source matrix.

    Its maps minimise ``sum |x W + b - y|^2 + ridge |W|^2``, in float64. Centred, so that ridge
    leaves the bias alone. Where the anchors do not determine the map (fewer than dimensions, or
    dependent), it is the one of least norm. Digits are lost with the condition number:
    ``docs/results.md`` has how many.
    """

    def __init__(self, gram_PP: Tensor, ridge: float = 0.0):
        import torch

        self.count = int(gram_PP[-1, -1])
        self.mean_X = gram_PP[-1, :-1] / self.count
        plain_XX = gram_PP[:-1, :-1]
        self.gram_XX = torch.addr(plain_XX, self.mean_X, self.mean_X, alpha=-self.count)
        self.gram_XX.diagonal().add_(ridge)
        self.factor_XX, failed = torch.linalg.cholesky_ex(self.gram_XX)
        self.condition = math.inf
        if not failed:
            # Against the uncentred matrix: rounding is relative to what the products were of.
            greatest = largest_eigenvalue(lambda vector: plain_XX @ vector, self.mean_X)
            inverse = largest_eigenvalue(
                lambda vector: torch.cholesky_solve(vector, self.factor_XX), self.mean_X
            )
            self.condition = (greatest + ridge) * inverse
        #: Whether a right side of float32 products would cost more than the tolerance, and
        #: whether float32 rows, or a float32 map, would.
        self.needs_exact = self.condition * 2.0**-23 > TOLERANCE
        self.needs_double = self.condition**0.5 * 2.0**-24 > TOLERANCE

    def solve(self, right_PY: Tensor, dtype: DType) -> AffineMap:
        import torch

        mean_Y = right_PY[-1] / self.count
        right_XY = torch.addr(right_PY[:-1], self.mean_X, mean_Y, alpha=-self.count)
        if self.condition < SINGULAR:
            weight_XY = torch.cholesky_solve(right_XY, self.factor_XX)
        else:
            values_X, vectors_XX = torch.linalg.eigh(self.gram_XX)
            limit = values_X.max().clamp(min=0) * len(values_X) * torch.finfo(torch.float64).eps
            inverse_X = torch.where(values_X > limit, 1 / values_X, 0.0)
            weight_XY = vectors_XX @ (inverse_X[:, None] * (vectors_XX.T @ right_XY))
        bias_Y = mean_Y - self.mean_X @ weight_XY
        return AffineMap(weight_XY.to(dtype), bias_Y.to(dtype))


def fit_procrustes(x_NX: Tensor | Rows, y_NY: Tensor | Rows) -> AffineMap:
    """Return the orthogonal map closest to the data, ``U V'`` of ``X'Y = U S V'``; no bias."""
    import torch

    left_XK, _, right_KY = torch.linalg.svd(cross(x_NX, y_NY)[:-1], full_matrices=False)
    weight_XY = (left_XK @ right_KY).to(x_NX.dtype)
    return AffineMap(weight_XY, weight_XY.new_zeros(weight_XY.shape[1]))


def quality(name: str, mapped_NY: Tensor, wanted_NY: Tensor) -> dict[str, float | int]:
    """Return relative squared error and mean cosine of mapped rows, as notes called ``name``."""
    cosines_N = (mapped_NY * wanted_NY).sum(1) / mapped_NY.norm(dim=1).clamp(min=1e-12)
    cosines_N = cosines_N / wanted_NY.norm(dim=1).clamp(min=1e-12)
    error = (mapped_NY - wanted_NY).square().double().sum()
    total = wanted_NY.square().double().sum().clamp(min=1e-300)
    return {
        f"{name}_measured": len(wanted_NY),
        f"{name}_squared_error": float(error / total),
        f"{name}_cosine": float(cosines_N.double().mean()),
    }


def leave_one_out(
    system: LeastSquares, x_NX: Tensor, y_NY: Tensor, mapped_NY: Tensor
) -> dict[str, Any]:
    """Return the quality of a map on each anchor without it; nothing where the map is singular.

    An anchor's residual without it is its residual by one minus its leverage, by which it pulls its
    own fitted value, exactly (Allen 1974, PRESS).
    """
    import torch

    if system.condition >= SINGULAR:
        return {"held_out": None}
    centred_XN = (x_NX.double() - system.mean_X).T
    solved_XN = torch.cholesky_solve(centred_XN, system.factor_XX)
    leverage_N = (centred_XN * solved_XN).sum(0) + 1 / system.count
    if leverage_N.max() > 1 - 1e-6:
        return {"held_out": None}
    left_out_NY = y_NY + (mapped_NY - y_NY) / (1 - leverage_N).to(y_NY.dtype)[:, None]
    return {"held_out": "leave-one-out", **quality("held_out", left_out_NY, y_NY)}


def sample(rows_NX: Tensor | Rows) -> slice:
    return slice(None, None, max(1, -(-len(rows_NX) // MEASURED)))
