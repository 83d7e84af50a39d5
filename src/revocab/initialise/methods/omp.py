"""OMP: the sparse code of a helper row over shared helper rows, applied to the source's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from revocab.initialise.method import Method, MethodInputs, RowsOptions
from revocab.initialise.rows.matching_pursuit import orthogonal_pursuit
from revocab.initialise.rows.weighted_means import blocks

if TYPE_CHECKING:
    import torch


#: Floats of the atoms' Gram matrix up to which it is held (1 GiB and a half: 20,000 shared tokens).
GRAM_ELEMENTS = 20_480**2
#: Floats of its rows that a block of tokens has in use: 32 MiB stay in the cache.
CHOSEN_ELEMENTS = 1 << 23


class OmpOptions(RowsOptions):
    """How many shared tokens a new token is made of."""

    #: tokensurgeon's default.
    k: int = Field(default=64, ge=1)


def sparse_codes(inputs: MethodInputs, size: int) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Return each missing token's atoms (positions among the shared tokens), weights, mean error.

    Errors are the residual's norm over the row's own. Shapes [N, size]; blocks bound the memory.
    """
    import torch
    from tqdm import tqdm

    atoms_KX = inputs.guide_VX[inputs.overlap_target_N]
    count, width = atoms_KX.shape
    index_NS = inputs.missing_N.new_zeros(len(inputs.missing_N), size)
    weight_NS = atoms_KX.new_zeros(len(inputs.missing_N), size)
    # A block holds its correlations with all atoms and its own orthonormal bases.
    shape = {"width": count + (size + 4) * width}
    gram_KK = None
    # Costs one product with every atom per atom, and saves `size` of them per token.
    if count**2 <= GRAM_ELEMENTS and len(index_NS) * size > count:
        gram_KK = atoms_KX @ atoms_KX.T
        shape = {"width": size * count, "elements": CHOSEN_ELEMENTS}
    error = 0.0
    parts = list(blocks(len(index_NS), **shape))
    quick = len(index_NS) * size * count < 1e8  # else some ten seconds or more
    for block in tqdm(parts, desc="omp", disable=quick, mininterval=2):
        wanted_NX = inputs.guide_VX[inputs.missing_N[block]]
        code = orthogonal_pursuit(wanted_NX, atoms_KX, size, gram_KK)
        index_NS[block], weight_NS[block] = code.index_NS, code.weight_NS
        share_N = code.residual_N / wanted_NX.norm(dim=1).clamp(min=torch.finfo(torch.float32).tiny)
        error += float(share_N.double().sum())
    return index_NS, weight_NS, error / max(1, len(index_NS))


def initialise(inputs: MethodInputs, options: OmpOptions) -> torch.Tensor:
    """Return, per missing token, its sparse code over shared tokens applied to their source rows.

    Goddard & Fernandes Neto 2025: the code is that of the helper's row over the helper's shared
    rows, found by orthogonal matching pursuit. A helper row of zeros has an empty code. Both
    matrices have the same codes, found once, where the helper is tied.
    """
    import torch

    inputs.require_overlap(METHOD.name, "builds new rows from shared ones")
    size = min(options.k, len(inputs.overlap_target_N), inputs.guide_VX.shape[1])
    known = f"omp codes of {size}"
    if known not in inputs.shared:
        inputs.shared[known] = sparse_codes(inputs, size)
    index_NS, weight_NS, inputs.notes["relative_residual"] = inputs.shared[known]
    return torch.nn.functional.embedding_bag(
        inputs.overlap_source_N[index_NS],
        inputs.source_VD,
        mode="sum",
        per_sample_weights=weight_NS,
    )


METHOD = Method(
    name="omp",
    label="OMP",
    summary="shared rows copied; a new row applies the helper row's sparse code over shared rows",
    citation="Goddard & Fernandes Neto 2025, Training-Free Tokenizer Transplantation via "
    "Orthogonal Matching Pursuit",
    options=OmpOptions,
    initialise=initialise,
    needs_helper=True,
)
