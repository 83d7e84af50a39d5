"""Rows for draft models: the input row of the last piece, head rows by halves from the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.rows.source_weights import SourceWeights, piece_weights

if TYPE_CHECKING:
    import torch


def by_halves(pieces: Sequence[int]) -> list[float]:
    return [0.5**place for place in range(len(pieces))]


def source_weights(inputs: MethodInputs, options: MethodOptions) -> SourceWeights:
    if inputs.matrix == "input":
        return piece_weights(inputs, lambda token: inputs.pieces(token)[-1:])
    return piece_weights(inputs, inputs.pieces, by_halves)


def initialise(inputs: MethodInputs, options: MethodOptions) -> torch.Tensor:
    return source_weights(inputs, options).combine(inputs.source_VD)


METHOD = Method(
    name="last-piece",
    label="Last piece",
    summary="for drafts: input rows of the last source piece, head rows by halves from the first",
    citation="the rows of jukofyork's transplant-vocab, as described",
    initialise=initialise,
    source_weights=source_weights,
)
