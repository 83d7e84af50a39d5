"""CLP: a new row is a weighted mean of shared source rows, weighted by similarity in the helper."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, RowsOptions
from revocab.initialise.rows import weighted_means
from revocab.limits import Size


class ClpOptions(RowsOptions):
    """How many shared tokens are looked at, and how similarities become weights."""

    top_k: Size | None = Field(
        default=None,
        description="use only the k most similar shared tokens; default: all, as published",
    )
    weights: Literal["cosine", "sparsemax"] = Field(
        default="cosine", description="cosines divided by their sum, or their sparsemax"
    )


def weighted_rows(inputs: MethodInputs, options: ClpOptions) -> Tensor:
    """Return ``weights(cos(H_missing, H_overlap)) @ E_source[overlap]``, block by block.

    ``H`` are the helper's rows of this matrix. Weights ``cosine``: similarities over their sum, not
    clipped, as published; ``sparsemax``: CLP+ (Yamaguchi et al. 2024). Over all shared tokens or
    the ``top_k`` nearest.
    """
    inputs.require_overlap("clp", "builds new rows from shared ones")
    return weighted_means.combine(
        inputs.guide_VX[inputs.missing_N],
        inputs.guide_VX[inputs.overlap_target_N],
        inputs.source_VD,
        inputs.overlap_source_N,
        weighted_means.sparsemax_weights
        if options.weights == "sparsemax"
        else weighted_means.share_weights,
        options.top_k,
    )


METHOD = Method(
    name="clp",
    label="CLP",
    colour="#CC79A7",
    summary="shared rows copied; new rows are means of shared ones, weighted by helper cosine",
    citation="Ostendorff & Rehm 2023, Efficient Language Model Training through Cross-Lingual and "
    "Progressive Transfer Learning",
    options=ClpOptions,
    initialise=weighted_rows,
    mixes_rows=True,
    needs_helper=True,
)
