"""A new row is a weighted mean of the source rows of the tokens that are most like it.

Candidates are all source tokens where the auxiliary embeddings have them (fastText, as published),
else the shared tokens.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, RowsOptions
from revocab.initialise.rows import means
from revocab.initialise.rows.alignment import gram
from revocab.initialise.rows.means import AuxiliaryOptions, compare
from revocab.limits import Size, Temperature, Width


class ClpOptions(RowsOptions):
    """How many shared tokens are looked at, and how similarities become weights."""

    top_k: Size | None = Field(
        default=None,
        description="use only the k most similar shared tokens; default: all, as published",
    )
    weights: Literal["cosine", "sparsemax"] = Field(
        default="cosine", description="cosines divided by their sum, or their sparsemax"
    )


class SimilarityOptions(AuxiliaryOptions):
    """How many neighbours count."""

    # ASSUME: the paper reports one best k, which our copy of its text has lost.
    neighbours: Size = Field(default=5, description="number of tokens whose rows are averaged")


class WechselOptions(AuxiliaryOptions):
    """How many neighbours count, and how sharply. The defaults are the published ones."""

    neighbours: Size = Field(default=10, description="number of tokens whose rows are averaged")
    temperature: Temperature = Field(default=0.1, description="of the softmax of their cosines")


class OfaOptions(WechselOptions):
    """The factorisation's rank, and WECHSEL's options with its defaults, as published."""

    rank: Width = Field(
        default=400, description="width of the low-rank space; the paper tries 100, 200 and 400"
    )


def clp_rows(inputs: MethodInputs, options: ClpOptions) -> Tensor:
    """Return ``weights(cos(H_missing, H_overlap)) @ E_source[overlap]``, H the helper's rows.

    Weights ``cosine``: similarities over their sum, not clipped, as published; ``sparsemax``: CLP+
    (Yamaguchi et al. 2024). Over all shared tokens or the ``top_k`` nearest.
    """
    inputs.require_overlap("clp", "builds new rows from shared ones")
    sparse = options.weights == "sparsemax"
    return means.combine(
        inputs.guide_VX[inputs.missing_N],
        inputs.guide_VX[inputs.overlap_target_N],
        inputs.source_VD,
        inputs.overlap_source_N,
        means.sparsemax_weights if sparse else means.share_weights,
        options.top_k,
    )


def similarity_rows(inputs: MethodInputs, options: SimilarityOptions) -> Tensor:
    """Return the cosine-weighted mean of each token's k nearest: Gosal et al. 2024, section 3.2."""
    # ASSUME: "weighted average" with weights proportional to the cosines; a negative one would
    # leave the convex hull, and cannot happen among the nearest of a real vocabulary.
    return compare(inputs, "similarity").weighted_rows(
        inputs, lambda scores_NK: means.share_weights(scores_NK.clamp_(min=0)), options.neighbours
    )


def focus_rows(inputs: MethodInputs, options: AuxiliaryOptions) -> Tensor:
    """Return ``sparsemax(cos(A_missing, A_overlap)) @ E_source[overlap]``, A auxiliary rows.

    Dobler & de Melo 2023. Tokens too rare for a fastText vector of their own are drawn
    from the source's distribution and are no candidates, as published.
    """
    tokens = compare(inputs, "focus", trained_only=True, source_tokens=False)
    return tokens.weighted_rows(inputs, means.sparsemax_weights)


def wechsel_rows(inputs: MethodInputs, options: WechselOptions) -> Tensor:
    """Return ``softmax(cos / temperature) @ E_source`` over each token's nearest candidates."""
    return compare(inputs, "wechsel").weighted_rows(
        inputs,
        lambda scores_NK: (scores_NK / options.temperature).softmax(dim=1),
        options.neighbours,
    )


def ofa_rows(inputs: MethodInputs, options: OfaOptions) -> Tensor:
    """Return WECHSEL's combination of low-rank coordinates, back in the source's width.

    Liu et al. 2024: with ``E = U S V'`` cut to rank k, coordinates ``F = U_k`` and
    primitives ``P = S_k V_k'``, a new row is ``(w @ F) @ P``. That is ``(w @ E) @ V_k V_k'``, so
    the rows are combined first and then projected, which costs no V x k factor. A token without
    an auxiliary embedding is a draw from the source's distribution, projected as well.
    """
    rows_ND = wechsel_rows(inputs, options)
    rank = min(options.rank, rows_ND.shape[1])
    inputs.notes["rank"] = rank
    if rank == rows_ND.shape[1] or not len(rows_ND):
        return rows_ND  # V V' is the identity
    basis_DR, inputs.notes["energy_kept"] = right_singular_vectors(inputs.source_VD, rank)
    return (rows_ND @ basis_DR) @ basis_DR.T


def right_singular_vectors(source_VD: Tensor, rank: int) -> tuple[Tensor, float]:
    """Return the leading ``rank`` right singular vectors ``V_DR``, and their energy: the share of
    the squared singular values. From the D x D Gram matrix, in float64 and in chunks of rows.
    """
    import torch

    values_D, vectors_DD = torch.linalg.eigh(gram(source_VD)[:-1, :-1])  # ascending
    values_D = values_D.clamp(min=0)
    total = values_D.sum()
    energy = float(values_D[-rank:].sum() / total) if total > 0 else 1.0
    return vectors_DD[:, -rank:].to(source_VD.dtype), energy


METHOD = (
    Method(
        name="clp",
        label="CLP",
        colour="#CC79A7",
        summary="shared rows copied; new rows are means of shared ones, weighted by helper cosine",
        citation="Ostendorff & Rehm 2023, Efficient Language Model Training through Cross-Lingual"
        " and Progressive Transfer Learning",
        options=ClpOptions,
        initialise=clp_rows,
        mixes_rows=True,
        needs_helper=True,
    ),
    Method(
        name="similarity",
        label="Similarity",
        summary="shared rows copied; a new row is the cosine-weighted mean of its k nearest"
        " tokens'",
        citation="Gosal et al. 2024, Bilingual Adaptation of Monolingual Foundation Models",
        options=SimilarityOptions,
        initialise=similarity_rows,
        mixes_rows=True,
        needs_helper=True,
        without_helper_row="own",
    ),
    Method(
        name="focus",
        label="FOCUS",
        summary="shared rows copied; new rows are sparse convex combinations of shared ones",
        citation="Dobler & de Melo 2023, FOCUS: Effective Embedding Initialization for Monolingual "
        "Specialization of Multilingual Models",
        options=AuxiliaryOptions,
        initialise=focus_rows,
        mixes_rows=True,
        needs_helper=True,
        without_helper_row="own",
    ),
    Method(
        name="wechsel",
        label="WECHSEL",
        summary="shared rows copied; a new row is a softmax mean of its nearest tokens'"
        " source rows",
        citation="Minixhofer et al. 2022, WECHSEL: Effective initialization of subword embeddings"
        " for cross-lingual transfer of monolingual language models",
        options=WechselOptions,
        initialise=wechsel_rows,
        mixes_rows=True,
        needs_helper=True,
        without_helper_row="own",
    ),
    Method(
        name="ofa",
        label="OFA",
        summary="shared rows copied; new rows as in wechsel, in a low-rank factorisation of the"
        " source",
        citation="Liu et al. 2024, OFA: A Framework of Initializing Unseen Subword Embeddings for "
        "Efficient Large-scale Multilingual Continued Pretraining",
        options=OfaOptions,
        initialise=ofa_rows,
        needs_helper=True,
        without_helper_row="own",
    ),
)
