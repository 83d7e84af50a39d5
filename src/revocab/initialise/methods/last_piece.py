"""Rows for draft models: the input row of the last piece, head rows by halves from the first."""

from __future__ import annotations

from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.rows.source_weights import SourceWeights, piece_weights


def source_weights(inputs: MethodInputs, options: MethodOptions) -> SourceWeights:
    if inputs.matrix == "input":
        return piece_weights(inputs, lambda token: inputs.pieces(token)[-1:])
    return piece_weights(
        inputs, inputs.pieces, lambda ids: [0.5**place for place in range(len(ids))]
    )


METHOD = Method(
    name="last-piece",
    label="Last piece",
    summary="for drafts: input rows of the last source piece, head rows by halves from the first",
    citation="the rows of jukofyork's transplant-vocab, as described",
    source_weights=source_weights,
)
