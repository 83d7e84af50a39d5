"""OMP: the sparse code of a helper row over shared helper rows, applied to the source's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from revocab.initialise.method import Inputs, Method, Options
from revocab.initialise.pursuit import orthogonal_pursuit
from revocab.initialise.similar import blocks

if TYPE_CHECKING:
    import torch


#: Floats of the atoms' Gram matrix up to which it is held (1 GiB and a half: 20,000 shared tokens).
GRAM_ELEMENTS = 20_480**2
#: Floats of its rows that a block of tokens has in use: 32 MiB stay in the cache.
CHOSEN_ELEMENTS = 1 << 23


class OmpOptions(Options):
    """How many shared tokens a new token is made of."""

    #: tokensurgeon's default.
    k: int = Field(default=64, ge=1)


def initialise(inputs: Inputs, options: Any) -> torch.Tensor:
    """Return, per missing token, its sparse code over shared tokens applied to their source rows.

    Goddard & Fernandes Neto 2025, section 3: the code is that of the helper's row over the helper's
    shared rows, found by orthogonal matching pursuit. A helper row of zeros has an empty code.
    """
    import torch

    inputs.require_overlap(METHOD.name, "builds new rows from shared ones")
    atoms_KX = inputs.helper_VD[inputs.overlap_target_N]
    size = min(options.k, *atoms_KX.shape)
    rows_ND = inputs.source_VD.new_empty(len(inputs.missing_N), inputs.source_VD.shape[1])
    error = 0.0
    # A block holds its correlations with all atoms and its own orthonormal bases.
    shape = {"width": len(atoms_KX) + (size + 4) * atoms_KX.shape[1]}
    gram_KK = None
    # Costs one product with every atom per atom, and saves `size` of them per token.
    if len(atoms_KX) ** 2 <= GRAM_ELEMENTS and len(rows_ND) * size > len(atoms_KX):
        gram_KK = atoms_KX @ atoms_KX.T
        shape = {"width": size * len(atoms_KX), "elements": CHOSEN_ELEMENTS}
    for block in blocks(len(rows_ND), **shape):
        wanted_NX = inputs.helper_VD[inputs.missing_N[block]]
        code = orthogonal_pursuit(wanted_NX, atoms_KX, size, gram_KK)
        rows_ND[block] = torch.nn.functional.embedding_bag(
            inputs.overlap_source_N[code.index_NS],
            inputs.source_VD,
            mode="sum",
            per_sample_weights=code.weight_NS,
        )
        share_N = code.residual_N / wanted_NX.norm(dim=1).clamp(min=1e-30)
        error += float(share_N.double().sum())
    if len(rows_ND):
        inputs.notes["relative_residual"] = error / len(rows_ND)
    return rows_ND


METHOD = Method(
    name="omp",
    summary="shared rows copied; a new row applies the helper row's sparse code over shared rows",
    citation="Goddard & Fernandes Neto 2025, Training-Free Tokenizer Transplantation via "
    "Orthogonal Matching Pursuit",
    options=OmpOptions,
    initialise=initialise,
    needs_helper=True,
)
