"""New rows drawn as Glorot and Bengio (Xavier) initialise a layer, whatever the other rows are.

Glorot & Bengio 2010, equations 12 and 16: as of a layer with the matrix' outputs and inputs.
"""

from __future__ import annotations

from pydantic import Field

from revocab.initialise.method import Method, RowsOptions
from revocab.initialise.rows.means import Distribution, zero_mean_rows


class XavierOptions(RowsOptions):
    """The shape of the distribution; its variance is the same."""

    distribution: Distribution = Field(default="uniform", description="what is drawn from")


METHOD = Method(
    name="xavier",
    label="Xavier",
    summary="shared rows copied; new rows drawn with mean 0 and variance 2 / (rows + width)",
    citation="Glorot & Bengio 2010, Understanding the difficulty of training deep feedforward "
    "neural networks",
    options=XavierOptions,
    initialise=lambda inputs, options: zero_mean_rows(
        inputs, 2 / (inputs.target_rows + inputs.source_VD.shape[1]), options.distribution
    ),
)
