"""New rows drawn as He et al. (Kaiming) initialise a layer, whatever the other rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from revocab.initialise.method import Method, MethodInputs, RowsOptions
from revocab.initialise.rows.means import Distribution, zero_mean_rows

if TYPE_CHECKING:
    import torch


class KaimingOptions(RowsOptions):
    """The shape of the distribution; its variance is the same."""

    #: What is drawn from.
    distribution: Distribution = "normal"


def initialise(inputs: MethodInputs, options: KaimingOptions) -> torch.Tensor:
    """Return one draw per missing token, of variance 2 / width.

    He et al. 2015, equation 10: as of a layer with that many inputs.
    """
    return zero_mean_rows(inputs, 2 / inputs.source_VD.shape[1], options.distribution)


METHOD = Method(
    name="kaiming",
    label="Kaiming",
    summary="shared rows copied; new rows drawn with mean 0 and variance 2 / width",
    citation="He et al. 2015, Delving Deep into Rectifiers: Surpassing Human-Level Performance on "
    "ImageNet Classification",
    options=KaimingOptions,
    initialise=initialise,
)
