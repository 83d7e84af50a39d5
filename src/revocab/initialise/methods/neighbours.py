"""A new row is a weighted mean of the source rows of the tokens that are most like its own.

Which are alike, an auxiliary embedding says. FOCUS mixes sparsely, similarity top-k by cosines,
WECHSEL by their softmax; OFA does as WECHSEL in a low-rank factorisation of the source matrix.
"""

from __future__ import annotations

from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs
from revocab.initialise.rows.alignment import gram
from revocab.initialise.rows.auxiliary import AuxiliaryOptions, compare
from revocab.initialise.rows.weighted_means import share_weights, softmax_weights, sparsemax_weights
from revocab.limits import Size, Temperature, Width


def focus(inputs: MethodInputs, options: AuxiliaryOptions) -> Tensor:
    """Return ``sparsemax(cos(A_missing, A_overlap)) @ E_source[overlap]``, A auxiliary rows.

    Dobler & de Melo 2023. Tokens too rare for a fastText vector of their own are drawn
    from the source's distribution and are no candidates, as published.
    """
    tokens = compare(inputs, "focus", trained_only=True, source_tokens=False)
    return tokens.weighted_rows(inputs, sparsemax_weights)


class SimilarityOptions(AuxiliaryOptions):
    """How many neighbours count."""

    # ASSUME: the paper reports one best k, which our copy of its text has lost.
    #: Tokens whose rows are averaged.
    neighbours: Size = 5


def _cosine_weights(scores_NK: Tensor) -> Tensor:
    """Return cosines over their sum; opposite tokens count for nothing."""
    # ASSUME: "weighted average" with weights proportional to the cosines; a negative one would
    # leave the convex hull, and cannot happen among the nearest of a real vocabulary.
    return share_weights(scores_NK.clamp_(min=0))


def similarity(inputs: MethodInputs, options: SimilarityOptions) -> Tensor:
    """Return the weighted mean of the source rows of each token's most similar candidates.

    Gosal et al. 2024, section 3.2. Candidates are all source tokens when the auxiliary is fastText,
    and the shared tokens when it is the helper.
    """
    tokens = compare(inputs, "similarity")
    return tokens.weighted_rows(inputs, _cosine_weights, options.neighbours)


class WechselOptions(AuxiliaryOptions):
    """How many neighbours count, and how sharply. The defaults are the published ones."""

    #: Tokens whose rows are averaged.
    neighbours: Size = 10
    #: Of the softmax of their cosines.
    temperature: Temperature = 0.1


def wechsel(inputs: MethodInputs, options: WechselOptions) -> Tensor:
    """Return ``softmax(cos / temperature) @ E_source`` over each token's nearest candidates.

    Minixhofer et al. 2022. Candidates are all source tokens when the auxiliary
    is fastText, as published, and the shared tokens when it is the helper.
    """
    tokens = compare(inputs, "wechsel")
    weigh = softmax_weights(options.temperature)
    return tokens.weighted_rows(inputs, weigh, options.neighbours)


class OfaOptions(WechselOptions):
    """The factorisation's rank, and WECHSEL's options with its defaults, as published."""

    #: Width of the low-rank space; the paper tries 100, 200 and 400.
    rank: Width = 400


def right_singular_vectors(source_VD: Tensor, rank: int) -> tuple[Tensor, float]:
    """Return the leading ``rank`` right singular vectors ``V_DR`` and the energy they keep.

    From the D x D Gram matrix, in float64 and in chunks of rows: the V x rank factor of the
    factorisation is never built. Energy: the kept share of the squared singular values.
    """
    import torch

    values_D, vectors_DD = torch.linalg.eigh(gram(source_VD)[:-1, :-1])  # ascending
    values_D = values_D.clamp(min=0)
    total = values_D.sum()
    kept = float(values_D[-rank:].sum() / total) if total > 0 else 1.0
    return vectors_DD[:, -rank:].to(source_VD.dtype), kept


def ofa(inputs: MethodInputs, options: OfaOptions) -> Tensor:
    """Return WECHSEL's combination of low-rank coordinates, back in the source's width.

    Liu et al. 2024: with ``E = U S V'`` cut to rank k, coordinates ``F = U_k`` and
    primitives ``P = S_k V_k'``, a new row is ``(w @ F) @ P``. That is ``(w @ E) @ V_k V_k'``, so
    the rows are combined first and then projected, which costs no V x k factor. A token without
    an auxiliary embedding is a draw from the source's distribution, projected as well.
    """
    rows_ND = wechsel(inputs, options)
    rank = min(options.rank, rows_ND.shape[1])
    inputs.notes["rank"] = rank
    if rank == rows_ND.shape[1] or not len(rows_ND):
        return rows_ND  # V V' is the identity
    basis_DR, inputs.notes["energy_kept"] = right_singular_vectors(inputs.source_VD, rank)
    return (rows_ND @ basis_DR) @ basis_DR.T


METHOD = (
    Method(
        name="focus",
        label="FOCUS",
        summary="shared rows copied; new rows are sparse convex combinations of shared ones",
        citation="Dobler & de Melo 2023, FOCUS: Effective Embedding Initialization for Monolingual "
        "Specialization of Multilingual Models",
        options=AuxiliaryOptions,
        initialise=focus,
        mixes_rows=True,
        needs_helper=True,
        without_helper_row="own",
    ),
    Method(
        name="similarity",
        label="Similarity",
        summary="shared rows copied; a new row is the cosine-weighted mean of its k nearest "
        "tokens'",
        citation="Gosal et al. 2024, Bilingual Adaptation of Monolingual Foundation Models",
        options=SimilarityOptions,
        initialise=similarity,
        mixes_rows=True,
        needs_helper=True,
        without_helper_row="own",
    ),
    Method(
        name="wechsel",
        label="WECHSEL",
        summary="shared rows copied; a new row is a softmax mean of its nearest tokens' source "
        "rows",
        citation="Minixhofer et al. 2022, WECHSEL: Effective initialization of subword embeddings "
        "for cross-lingual transfer of monolingual language models",
        options=WechselOptions,
        initialise=wechsel,
        mixes_rows=True,
        needs_helper=True,
        without_helper_row="own",
    ),
    Method(
        name="ofa",
        label="OFA",
        summary="shared rows copied; new rows as in wechsel, in a low-rank factorisation of the "
        "source",
        citation="Liu et al. 2024, OFA: A Framework of Initializing Unseen Subword Embeddings for "
        "Efficient Large-scale Multilingual Continued Pretraining",
        options=OfaOptions,
        initialise=ofa,
        needs_helper=True,
        without_helper_row="own",
    ),
)
