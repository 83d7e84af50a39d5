"""Rows for draft models: the input row of the last piece, head rows by halves.

A draft reads a token by what it would have read last, and predicts it by its first pieces most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.rows.means import note_pieces
from revocab.initialise.rows.source_weights import SourceWeights

if TYPE_CHECKING:
    import torch


def weights_of(pieces: list[int], matrix: str) -> dict[int, float]:
    """Return the weight of each piece's row: the last alone, or 1, 1/2, 1/4, … of their sum."""
    if matrix == "input":
        return {pieces[-1]: 1.0}
    weights: dict[int, float] = {}
    total = sum(0.5**place for place in range(len(pieces)))
    for place, piece in enumerate(pieces):
        weights[piece] = weights.get(piece, 0.0) + 0.5**place / total
    return weights


def source_weights(inputs: MethodInputs, options: MethodOptions) -> SourceWeights:
    lists = (inputs.pieces(token) for token in inputs.missing_N.tolist())
    return SourceWeights.of(
        (weights_of(pieces, inputs.matrix) for pieces in lists), len(inputs.source_VD)
    )


def initialise(inputs: MethodInputs, options: MethodOptions) -> torch.Tensor:
    """Return, per missing token, the weighted sum of its pieces' rows, float32 [N, D]."""
    note_pieces(inputs, [inputs.pieces(token) for token in inputs.missing_N.tolist()])
    weights = source_weights(inputs, options)
    return weights.combine(inputs.source_VD, slice(0, len(weights)))


METHOD = Method(
    name="last-piece",
    label="Last piece",
    summary="for drafts: input rows of the last source piece, head rows by halves from the first",
    citation="the rows of jukofyork's transplant-vocab, as described",
    initialise=initialise,
    source_weights=source_weights,
)
