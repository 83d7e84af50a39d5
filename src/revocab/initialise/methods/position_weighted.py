"""Position-weighted: a mean of the source pieces in which the first or the last counts most."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Literal

from revocab.initialise.method import Method, MethodInputs, RowsOptions
from revocab.initialise.rows.source_weights import SourceWeights, piece_weights
from revocab.limits import Positive

End = Literal["first", "last"]


class PositionOptions(RowsOptions):
    """Which piece counts most, and by how much."""

    # ASSUME: the sides that AdaptiVocab argues for: a body reads a word off its last piece, and
    # the head announces it by its first.
    #: In the input embedding.
    input: End = "last"
    #: In an untied head.
    output: End = "first"
    #: Each piece counts exp(rate) times as much as its neighbour towards the other end.
    rate: Positive = 2.0


def source_weights(inputs: MethodInputs, options: PositionOptions) -> SourceWeights:
    end = options.input if inputs.matrix == "input" else options.output

    def weigh(pieces: Sequence[int]) -> list[float]:
        # From the end that counts most, where exp(0) is: no weight overflows.
        weights = [exp(-options.rate * place) for place in range(len(pieces))]
        return weights if end == "first" else weights[::-1]

    return piece_weights(inputs, inputs.pieces, weigh)


METHOD = Method(
    name="position-weighted",
    label="Position-weighted",
    summary="shared rows copied; a new row is a mean of its source pieces, weighted by position",
    citation="Nakash et al. 2025, AdaptiVocab: Enhancing LLM Efficiency in Focused Domains through "
    "Lightweight Vocabulary Adaptation",
    options=PositionOptions,
    source_weights=source_weights,
)
