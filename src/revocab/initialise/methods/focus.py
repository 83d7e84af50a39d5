"""FOCUS: a new row is a sparse convex combination of shared source rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from revocab.initialise.method import Method, MethodInputs
from revocab.initialise.rows.auxiliary import AuxiliaryOptions, compare, with_fallback
from revocab.initialise.rows.weighted_means import combine, sparsemax_weights

if TYPE_CHECKING:
    import torch


def initialise(inputs: MethodInputs, options: AuxiliaryOptions) -> torch.Tensor:
    """Return ``sparsemax(cos(A_missing, A_overlap)) @ E_source[overlap]``, A auxiliary rows.

    Dobler & de Melo 2023. Tokens too rare for a fastText vector of their own are drawn
    from the source's distribution and are no candidates, as published.
    """
    tokens = compare(inputs, METHOD.name, trained_only=True, source_tokens=False)
    rows_ND = combine(
        tokens.query_NA, tokens.key_KA, inputs.source_VD, tokens.source_K, sparsemax_weights
    )
    return with_fallback(inputs, tokens.known_M, rows_ND)


METHOD = Method(
    name="focus",
    label="FOCUS",
    summary="shared rows copied; new rows are sparse convex combinations of shared ones",
    citation="Dobler & de Melo 2023, FOCUS: Effective Embedding Initialization for Monolingual "
    "Specialization of Multilingual Models",
    options=AuxiliaryOptions,
    initialise=initialise,
    needs_helper=True,
    without_helper_row="own",
)
