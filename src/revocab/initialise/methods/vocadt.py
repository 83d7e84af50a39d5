"""VocADT's start: FVT's rows, and random mixtures of all source rows where FVT has no pieces."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.rows.means import piece_means
from revocab.initialise.rows.source_weights import SourceWeights, mean_weights


def _weights(inputs: MethodInputs) -> Iterator[dict[int, float] | Tensor]:
    """Yield each missing token's weights: of its pieces, or ``u / sum(u)`` over all source rows.

    Equations 2 and 3 of the paper. The first is written over a set of pieces and called their
    average; counts make it the average where a piece repeats.
    """
    import torch

    generator = inputs.generator()
    for token in inputs.missing_N.tolist():
        if inputs.spelt(token):
            yield mean_weights(inputs.pieces(token))
        else:
            drawn_V = torch.rand(len(inputs.source_VD), generator=generator)
            yield drawn_V / drawn_V.sum()


def initialise(inputs: MethodInputs, options: MethodOptions) -> Tensor:
    """Return FVT's rows bit for bit, and the drawn mixtures in the place of its stand-ins."""
    import torch

    rows_ND = piece_means(inputs, inputs.pieces)
    drawn = 0
    for number, weights in enumerate(_weights(inputs)):
        if isinstance(weights, torch.Tensor):
            rows_ND[number] = weights.to(rows_ND.device) @ inputs.source_VD
            drawn += 1
    inputs.notes["tokens_drawn"] = drawn
    return rows_ND


METHOD = Method(
    name="vocadt",
    label="VocADT",
    colour="#661100",
    summary="fvt, with a random mixture of all source rows where the source cannot spell a token",
    citation="Han et al. 2024, Adapters for Altering LLM Vocabularies: What Languages Benefit the "
    "Most?",
    initialise=initialise,
    source_weights=lambda inputs, options: SourceWeights.of(
        _weights(inputs), len(inputs.source_VD)
    ),
)
