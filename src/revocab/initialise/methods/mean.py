"""Every new row is the mean of the source rows."""

from __future__ import annotations

from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.rows.means import column_mean


def initialise(inputs: MethodInputs, options: MethodOptions) -> Tensor:
    mean_D = column_mean(inputs.source_VD).float()
    return mean_D.expand(len(inputs.missing_N), -1).clone()


METHOD = Method(
    name="mean",
    label="Mean",
    summary="shared rows copied; every new row is the mean source row",
    citation="Hewitt 2021, Initializing New Word Embeddings for Pretrained Language Models",
    initialise=initialise,
    mixes_rows=True,
)
