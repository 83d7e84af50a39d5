"""New rows drawn as He et al. (Kaiming) initialise a layer, whatever the other rows are.

He et al. 2015, equation 10: as of a layer with as many inputs as a row has numbers.
"""

from __future__ import annotations

from pydantic import Field

from revocab.initialise.method import Method, RowsOptions
from revocab.initialise.rows.means import Distribution, zero_mean_rows


class KaimingOptions(RowsOptions):
    """The shape of the distribution; its variance is the same."""

    distribution: Distribution = Field(default="normal", description="what is drawn from")


METHOD = Method(
    name="kaiming",
    label="Kaiming",
    summary="shared rows copied; new rows drawn with mean 0 and variance 2 / width",
    citation="He et al. 2015, Delving Deep into Rectifiers: Surpassing Human-Level Performance on "
    "ImageNet Classification",
    options=KaimingOptions,
    initialise=lambda inputs, options: zero_mean_rows(
        inputs, 2 / inputs.source_VD.shape[1], options.distribution
    ),
)
