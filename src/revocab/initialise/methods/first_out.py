"""First out: the mean of the source pieces in the input embedding, the first one in the head."""

from __future__ import annotations

from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.rows.source_weights import SourceWeights, piece_weights


def source_weights(inputs: MethodInputs, options: MethodOptions) -> SourceWeights:
    if inputs.matrix == "input":
        return piece_weights(inputs, inputs.pieces)
    return piece_weights(inputs, lambda token: inputs.pieces(token)[:1])


METHOD = Method(
    name="first-out",
    label="First out",
    summary="shared rows copied; a new row is the mean of its source pieces, in the head the first",
    citation="NVIDIA Nemotron, tokenizer extension, 2026",
    source_weights=source_weights,
)
