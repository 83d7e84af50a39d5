"""CLP+: CLP with sparsemax weights, so that few shared tokens count and norms do not collapse."""

from __future__ import annotations

from revocab.initialise.method import Method
from revocab.initialise.methods.clp import TopKOptions, weighted_rows

METHOD = Method(
    name="clp-sparsemax",
    label="CLP+",
    summary="clp with sparsemax weights (CLP+)",
    citation="Yamaguchi et al. 2024, An Empirical Study on Cross-lingual Vocabulary Adaptation",
    options=TopKOptions,
    initialise=lambda inputs, options: weighted_rows(
        inputs, "clp-sparsemax", options.top_k, "sparsemax"
    ),
    mixes_rows=True,
    needs_helper=True,
)
