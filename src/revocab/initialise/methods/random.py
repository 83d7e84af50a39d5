"""New rows drawn from the source matrix's per-dimension normal distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from revocab.initialise.method import Inputs, Method, Options
from revocab.initialise.statistics import column_mean_and_std

if TYPE_CHECKING:
    import torch


def normal_rows(inputs: Inputs, rows: int) -> torch.Tensor:
    """Return ``rows`` draws from N(mean_D, std_D) of the source token rows (float32, seeded)."""
    import torch

    source_VD = inputs.source_VD
    mean_D, std_D = (values_D.float() for values_D in column_mean_and_std(source_VD))
    noise_ND = torch.randn(rows, source_VD.shape[1], generator=inputs.generator())
    return noise_ND.to(source_VD.device).mul_(std_D).add_(mean_D)


def initialise(inputs: Inputs, options: Options) -> torch.Tensor:
    """Return one random row per missing token."""
    return normal_rows(inputs, len(inputs.missing_N))


METHOD = Method(
    name="random",
    summary="shared rows copied; new rows from a normal distribution fitted to each dimension",
    citation="Moroni et al. 2025 (SAVA), section 3.1",
    initialise=initialise,
)
