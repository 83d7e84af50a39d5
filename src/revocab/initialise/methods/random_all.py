"""Every row drawn from the source matrix's per-dimension normal distribution; nothing copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.rows.means import normal_rows

if TYPE_CHECKING:
    import torch


def initialise(inputs: MethodInputs, options: MethodOptions) -> torch.Tensor:
    return normal_rows(inputs, inputs.target_rows)


METHOD = Method(
    name="random-all",
    label="Random (all rows)",
    summary="every row from a normal distribution fitted to each dimension; copies nothing",
    citation="Moroni et al. 2025 (SAVA), first code release",
    initialise=initialise,
    copies_overlap=False,
)
