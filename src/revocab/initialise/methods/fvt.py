"""Fast vocabulary transfer: a new row is the mean of the rows of its source pieces."""

from __future__ import annotations

from revocab.initialise.method import Method
from revocab.initialise.rows.means import piece_means
from revocab.initialise.rows.source_weights import piece_weights

METHOD = Method(
    name="fvt",
    label="FVT",
    colour="#56B4E9",
    summary="shared rows copied; a new row is the mean of its source pieces",
    citation="Gee et al. 2022, Fast Vocabulary Transfer for Language Model Compression",
    initialise=lambda inputs, options: piece_means(inputs, inputs.pieces),
    source_weights=lambda inputs, options: piece_weights(inputs, inputs.pieces),
)
