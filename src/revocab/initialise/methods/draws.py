"""New rows drawn at random: as the source's rows are distributed, or as a layer's first weights."""

from __future__ import annotations

from pydantic import Field

from revocab.initialise.method import Method, RowsOptions
from revocab.initialise.rows.means import Distribution, normal_rows, zero_mean_rows


class XavierOptions(RowsOptions):
    """The shape of the distribution; its variance is the same."""

    distribution: Distribution = Field(default="uniform", description="what is drawn from")


class KaimingOptions(RowsOptions):
    """The shape of the distribution; its variance is the same."""

    distribution: Distribution = Field(default="normal", description="what is drawn from")


METHOD = (
    Method(
        name="random",
        label="Random",
        colour="#E69F00",
        dash=(0, (1.5, 1)),
        summary="shared rows copied; new rows from a normal distribution fitted to each dimension",
        citation="Moroni et al. 2025 (SAVA), section 3.1",
        initialise=lambda inputs, options: normal_rows(inputs, len(inputs.missing_N)),
    ),
    # Equations 12 and 16: as of a layer with the matrix' outputs and inputs.
    Method(
        name="xavier",
        label="Xavier",
        summary="shared rows copied; new rows drawn with mean 0 and variance 2 / (rows + width)",
        citation="Glorot & Bengio 2010, Understanding the difficulty of training deep feedforward "
        "neural networks",
        options=XavierOptions,
        initialise=lambda inputs, options: zero_mean_rows(
            inputs, 2 / (inputs.target_rows + inputs.source_VD.shape[1]), options.distribution
        ),
    ),
    # Equation 10: as of a layer with as many inputs as a row has numbers.
    Method(
        name="kaiming",
        label="Kaiming",
        summary="shared rows copied; new rows drawn with mean 0 and variance 2 / width",
        citation="He et al. 2015, Delving Deep into Rectifiers: Surpassing Human-Level Performance "
        "on ImageNet Classification",
        options=KaimingOptions,
        initialise=lambda inputs, options: zero_mean_rows(
            inputs, 2 / inputs.source_VD.shape[1], options.distribution
        ),
    ),
)
