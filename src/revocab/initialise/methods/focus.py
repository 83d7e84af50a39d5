"""FOCUS: a new row is a sparse convex combination of shared source rows."""

from __future__ import annotations

from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs
from revocab.initialise.rows.auxiliary import AuxiliaryOptions, compare
from revocab.initialise.rows.weighted_means import sparsemax_weights


def initialise(inputs: MethodInputs, options: AuxiliaryOptions) -> Tensor:
    """Return ``sparsemax(cos(A_missing, A_overlap)) @ E_source[overlap]``, A auxiliary rows.

    Dobler & de Melo 2023. Tokens too rare for a fastText vector of their own are drawn
    from the source's distribution and are no candidates, as published.
    """
    tokens = compare(inputs, METHOD.name, trained_only=True, source_tokens=False)
    return tokens.weighted_rows(inputs, sparsemax_weights)


METHOD = Method(
    name="focus",
    label="FOCUS",
    summary="shared rows copied; new rows are sparse convex combinations of shared ones",
    citation="Dobler & de Melo 2023, FOCUS: Effective Embedding Initialization for Monolingual "
    "Specialization of Multilingual Models",
    options=AuxiliaryOptions,
    initialise=initialise,
    mixes_rows=True,
    needs_helper=True,
    without_helper_row="own",
)
