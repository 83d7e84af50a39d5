"""FVT as SAVA's released code tokenises: the marker character of a new token stays in its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.rows.means import piece_means
from revocab.initialise.rows.source_weights import SourceWeights, piece_weights

if TYPE_CHECKING:
    import torch


def initialise(inputs: MethodInputs, options: MethodOptions) -> torch.Tensor:
    """Return the mean source row of each missing token's marked string, as released."""
    return piece_means(inputs, inputs.pieces_released)


def source_weights(inputs: MethodInputs, options: MethodOptions) -> SourceWeights:
    return piece_weights(inputs, inputs.pieces_released)


METHOD = Method(
    name="fvt-released",
    label="FVT (released)",
    summary="fvt with the released code's tokenisation, for comparison with published numbers",
    citation="Moroni et al. 2025 (SAVA), released code",
    initialise=initialise,
    source_weights=source_weights,
)
