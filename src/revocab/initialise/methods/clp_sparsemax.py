"""CLP+: CLP with sparsemax weights, so that few shared tokens count and norms do not collapse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from revocab.initialise.method import Method, MethodInputs
from revocab.initialise.methods.clp import TopKOptions, weighted_rows

if TYPE_CHECKING:
    import torch


def initialise(inputs: MethodInputs, options: TopKOptions) -> torch.Tensor:
    return weighted_rows(inputs, METHOD.name, options.top_k, "sparsemax")


METHOD = Method(
    name="clp-sparsemax",
    label="CLP+",
    summary="clp with sparsemax weights (CLP+)",
    citation="Yamaguchi et al. 2024, An Empirical Study on Cross-lingual Vocabulary Adaptation",
    options=TopKOptions,
    initialise=initialise,
    mixes_rows=True,
    needs_helper=True,
)
