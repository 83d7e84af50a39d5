"""Fast vocabulary transfer: a new row is the mean of the rows of its source pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.rows.means import piece_means
from revocab.initialise.rows.source_weights import SourceWeights, piece_weights

if TYPE_CHECKING:
    import torch


def initialise(inputs: MethodInputs, options: MethodOptions) -> torch.Tensor:
    """Return the mean source row of each missing token's text, as the source tokenizer cuts it."""
    return piece_means(inputs, inputs.pieces)


def source_weights(inputs: MethodInputs, options: MethodOptions) -> SourceWeights:
    return piece_weights(inputs, inputs.pieces)


METHOD = Method(
    name="fvt",
    label="FVT",
    colour="#56B4E9",
    summary="shared rows copied; a new row is the mean of its source pieces",
    citation="Gee et al. 2022, Fast Vocabulary Transfer for Language Model Compression",
    initialise=initialise,
    source_weights=source_weights,
)
