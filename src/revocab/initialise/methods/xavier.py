"""New rows drawn as Glorot and Bengio (Xavier) initialise a layer, whatever the other rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from revocab.initialise.method import Method, MethodInputs, RowsOptions
from revocab.initialise.rows.means import Distribution, zero_mean_rows

if TYPE_CHECKING:
    import torch


class XavierOptions(RowsOptions):
    """The shape of the distribution; its variance is the same."""

    #: What is drawn from.
    distribution: Distribution = "uniform"


def initialise(inputs: MethodInputs, options: XavierOptions) -> torch.Tensor:
    """Return one draw per missing token, of variance 2 / (rows + width) of the target matrix.

    Glorot & Bengio 2010, equations 12 and 16: as of a layer with that many outputs and inputs.
    """
    both = inputs.target_rows + inputs.source_VD.shape[1]
    return zero_mean_rows(inputs, 2 / both, options.distribution)


METHOD = Method(
    name="xavier",
    label="Xavier",
    summary="shared rows copied; new rows drawn with mean 0 and variance 2 / (rows + width)",
    citation="Glorot & Bengio 2010, Understanding the difficulty of training deep feedforward "
    "neural networks",
    options=XavierOptions,
    initialise=initialise,
)
