"""CLP+: CLP with sparsemax weights, so that few shared tokens count and norms do not collapse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from revocab.initialise.method import Method, MethodInputs, RowsOptions
from revocab.initialise.methods.clp import weighted_rows

if TYPE_CHECKING:
    import torch


class ClpSparsemaxOptions(RowsOptions):
    """How many shared tokens are looked at."""

    #: Use only the k most similar shared tokens; none: all, as published.
    top_k: int | None = Field(default=None, ge=1)


def initialise(inputs: MethodInputs, options: ClpSparsemaxOptions) -> torch.Tensor:
    """Return one sparse convex combination of shared source rows per missing token."""
    return weighted_rows(inputs, METHOD.name, options.top_k, "sparsemax")


METHOD = Method(
    name="clp-sparsemax",
    label="CLP+",
    summary="clp with sparsemax weights (CLP+)",
    citation="Yamaguchi et al. 2024, An Empirical Study on Cross-lingual Vocabulary Adaptation",
    options=ClpSparsemaxOptions,
    initialise=initialise,
    needs_helper=True,
)
