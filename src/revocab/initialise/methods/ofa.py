"""OFA: rows combined among neighbours in a low-rank factorisation of the source matrix."""

from __future__ import annotations

from pydantic import Field

from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs
from revocab.initialise.methods import wechsel
from revocab.initialise.rows.alignment import gram
from revocab.limits import Width


class OfaOptions(wechsel.WechselOptions):
    """The factorisation's rank, and WECHSEL's options with its defaults, as published."""

    rank: Width = Field(
        default=400,
        description="width of the low-rank space; the paper tries 100, 200 and 400",
    )


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


def initialise(inputs: MethodInputs, options: OfaOptions) -> Tensor:
    """Return WECHSEL's combination of low-rank coordinates, back in the source's width.

    Liu et al. 2024: with ``E = U S V'`` cut to rank k, coordinates ``F = U_k`` and
    primitives ``P = S_k V_k'``, a new row is ``(w @ F) @ P``. That is ``(w @ E) @ V_k V_k'``, so
    the rows are combined first and then projected, which costs no V x k factor. A token without
    an auxiliary embedding is a draw from the source's distribution, projected as well.
    """
    rows_ND = wechsel.initialise(inputs, options)
    rank = min(options.rank, rows_ND.shape[1])
    inputs.notes["rank"] = rank
    if rank == rows_ND.shape[1] or not len(rows_ND):
        return rows_ND  # V V' is the identity
    basis_DR, inputs.notes["energy_kept"] = right_singular_vectors(inputs.source_VD, rank)
    return (rows_ND @ basis_DR) @ basis_DR.T


METHOD = Method(
    name="ofa",
    label="OFA",
    summary="shared rows copied; new rows as in wechsel, in a low-rank factorisation of the source",
    citation="Liu et al. 2024, OFA: A Framework of Initializing Unseen Subword Embeddings for "
    "Efficient Large-scale Multilingual Continued Pretraining",
    options=OfaOptions,
    initialise=initialise,
    needs_helper=True,
    without_helper_row="own",
)
