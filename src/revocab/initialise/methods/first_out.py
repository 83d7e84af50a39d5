"""First out: the mean of the source pieces in the input embedding, the first one in the head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.rows.source_weights import SourceWeights, piece_weights

if TYPE_CHECKING:
    import torch


def source_weights(inputs: MethodInputs, options: MethodOptions) -> SourceWeights:
    if inputs.matrix == "input":
        return piece_weights(inputs, inputs.pieces)
    return piece_weights(inputs, lambda token: inputs.pieces(token)[:1])


def initialise(inputs: MethodInputs, options: MethodOptions) -> torch.Tensor:
    return source_weights(inputs, options).combine(inputs.source_VD)


METHOD = Method(
    name="first-out",
    label="First out",
    summary="shared rows copied; a new row is the mean of its source pieces, in the head the first",
    citation="NVIDIA Nemotron, tokenizer extension, 2026",
    initialise=initialise,
    source_weights=source_weights,
)
