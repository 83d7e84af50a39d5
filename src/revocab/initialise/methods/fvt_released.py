"""FVT as SAVA's released code tokenises: the marker character of a new token stays in its text."""

from __future__ import annotations

from revocab.initialise.method import Method
from revocab.initialise.rows.means import piece_means
from revocab.initialise.rows.source_weights import piece_weights

METHOD = Method(
    name="fvt-released",
    label="FVT (released)",
    summary="fvt with the released code's tokenisation, for comparison with published numbers",
    citation="Moroni et al. 2025 (SAVA), released code",
    initialise=lambda inputs, options: piece_means(inputs, inputs.pieces_released),
    source_weights=lambda inputs, options: piece_weights(inputs, inputs.pieces_released),
)
