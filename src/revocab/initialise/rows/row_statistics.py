"""Per-dimension statistics of large matrices (float64 sums, in cache-sized passes), and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import torch

    from revocab.initialise.method import MethodInputs

Distribution = Literal["uniform", "normal"]

#: Few enough rows that the float64 copy stays in the cache: 5 times faster than torch's reduction.
_ROWS = 256


def column_mean(matrix_VD: torch.Tensor) -> torch.Tensor:
    """Return the mean row, in float64."""
    total_D: Any = sum(part.double().sum(0) for part in matrix_VD.split(_ROWS))
    return total_D / len(matrix_VD)


def column_mean_and_std(matrix_VD: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return mean and deviation (dividing by the number of rows) per dimension, in float64."""
    mean_D = column_mean(matrix_VD)
    squares_D: Any = sum((part - mean_D).square().sum(0) for part in matrix_VD.split(_ROWS))
    return mean_D, (squares_D / len(matrix_VD)).sqrt()


def zero_mean_rows(
    inputs: MethodInputs, variance: float, distribution: Distribution
) -> torch.Tensor:
    """Return a row per missing token, of draws of mean 0 and the given variance (float32)."""
    import torch

    shape, generator = (len(inputs.missing_N), inputs.source_VD.shape[1]), inputs.generator()
    if distribution == "normal":
        rows_ND = torch.randn(shape, generator=generator).mul_(variance**0.5)
    else:
        bound = (3 * variance) ** 0.5  # a uniform draw from ±a has the variance a² / 3
        rows_ND = torch.rand(shape, generator=generator).mul_(2 * bound).sub_(bound)
    return rows_ND.to(inputs.source_VD.device)


def normal_rows(inputs: MethodInputs, rows: int) -> torch.Tensor:
    """Return ``rows`` draws from N(mean_D, std_D) of the source token rows (float32)."""
    import torch

    mean_D, std_D = (values_D.float() for values_D in column_mean_and_std(inputs.source_VD))
    noise_ND = torch.randn(rows, inputs.source_VD.shape[1], generator=inputs.generator())
    return noise_ND.to(inputs.source_VD.device).mul_(std_D).add_(mean_D)
