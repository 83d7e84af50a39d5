"""New rows that are drawn, or their mean: no other model, no pieces, whatever the token is.

Xavier: Glorot & Bengio 2010, equations 12 and 16, as of a layer with the matrix' outputs and
inputs. Kaiming: He et al. 2015, equation 10, as of a layer with as many inputs as a row is wide.
"""

from __future__ import annotations

from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, MethodOptions, RowsOptions
from revocab.initialise.rows.means import Distribution, column_mean, normal_rows, zero_mean_rows


class XavierOptions(RowsOptions):
    """The shape of the distribution; its variance is the same."""

    #: What is drawn from.
    distribution: Distribution = "uniform"


class KaimingOptions(RowsOptions):
    """The shape of the distribution; its variance is the same."""

    #: What is drawn from.
    distribution: Distribution = "normal"


def mean_rows(inputs: MethodInputs, options: MethodOptions) -> Tensor:
    mean_D = column_mean(inputs.source_VD).float()
    return mean_D.expand(len(inputs.missing_N), -1).clone()


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
    Method(
        name="mean",
        label="Mean",
        summary="shared rows copied; every new row is the mean source row",
        citation="Hewitt 2021, Initializing New Word Embeddings for Pretrained Language Models",
        initialise=mean_rows,
        mixes_rows=True,
    ),
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
