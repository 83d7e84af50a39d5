"""Similarity top-k: a new row is the cosine-weighted mean of its k most similar tokens' rows."""

from __future__ import annotations

from pydantic import Field

from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs
from revocab.initialise.rows.auxiliary import AuxiliaryOptions, compare
from revocab.initialise.rows.weighted_means import share_weights
from revocab.limits import Size


class SimilarityOptions(AuxiliaryOptions):
    """How many neighbours count."""

    # ASSUME: the paper reports one best k, which our copy of its text has lost.
    neighbours: Size = Field(default=5, description="number of tokens whose rows are averaged")


def _weights(scores_NK: Tensor) -> Tensor:
    """Return cosines over their sum; opposite tokens count for nothing."""
    # ASSUME: "weighted average" with weights proportional to the cosines; a negative one would
    # leave the convex hull, and cannot happen among the nearest of a real vocabulary.
    return share_weights(scores_NK.clamp_(min=0))


def initialise(inputs: MethodInputs, options: SimilarityOptions) -> Tensor:
    """Return the weighted mean of the source rows of each token's most similar candidates.

    Gosal et al. 2024, section 3.2. Candidates are all source tokens when the auxiliary is fastText,
    and the shared tokens when it is the helper.
    """
    tokens = compare(inputs, METHOD.name)
    return tokens.weighted_rows(inputs, _weights, options.neighbours)


METHOD = Method(
    name="similarity",
    label="Similarity",
    summary="shared rows copied; a new row is the cosine-weighted mean of its k nearest tokens'",
    citation="Gosal et al. 2024, Bilingual Adaptation of Monolingual Foundation Models",
    options=SimilarityOptions,
    initialise=initialise,
    mixes_rows=True,
    needs_helper=True,
    without_helper_row="own",
)
