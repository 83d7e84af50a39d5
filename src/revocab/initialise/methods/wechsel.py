"""WECHSEL: a new row is a softmax-weighted mean of the k nearest source rows."""

from __future__ import annotations

from pydantic import Field

from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs
from revocab.initialise.rows.auxiliary import AuxiliaryOptions, compare
from revocab.initialise.rows.weighted_means import softmax_weights
from revocab.limits import Size, Temperature


class WechselOptions(AuxiliaryOptions):
    """How many neighbours count, and how sharply. The defaults are the published ones."""

    neighbours: Size = Field(default=10, description="number of tokens whose rows are averaged")
    temperature: Temperature = Field(default=0.1, description="of the softmax of their cosines")


def initialise(inputs: MethodInputs, options: WechselOptions) -> Tensor:
    """Return ``softmax(cos / temperature) @ E_source`` over each token's nearest candidates.

    Minixhofer et al. 2022. Candidates are all source tokens when the auxiliary
    is fastText, as published, and the shared tokens when it is the helper.
    """
    tokens = compare(inputs, METHOD.name)
    weigh = softmax_weights(options.temperature)
    return tokens.weighted_rows(inputs, weigh, options.neighbours)


METHOD = Method(
    name="wechsel",
    label="WECHSEL",
    summary="shared rows copied; a new row is a softmax mean of its nearest tokens' source rows",
    citation="Minixhofer et al. 2022, WECHSEL: Effective initialization of subword embeddings for "
    "cross-lingual transfer of monolingual language models",
    options=WechselOptions,
    initialise=initialise,
    mixes_rows=True,
    needs_helper=True,
    without_helper_row="own",
)
