"""OMP: the sparse code of a helper row over shared helper rows, applied to the source's rows."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import Field

from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, RowsOptions
from revocab.initialise.rows.means import blocks
from revocab.limits import Size

#: Doubles of the atoms' Gram matrix up to which it is held (3 GiB: 20,000 shared tokens).
GRAM_ELEMENTS = 20_480**2
#: Doubles of its rows that a block of tokens has in use: 32 MiB stay in the cache.
CHOSEN_ELEMENTS = 1 << 22
#: Similarities this close, as a share of both norms, are a tie, which rounding must not decide.
TIE = 1e-12


class OmpOptions(RowsOptions):
    """How many shared tokens a new token is made of."""

    k: Size = Field(
        default=64, description="most shared tokens of a new one; the default is tokensurgeon's"
    )


class Code(NamedTuple):
    """Sparse codes: per row ``S`` atoms and their weights (0 where fewer were needed)."""

    index_NS: Tensor
    weight_NS: Tensor
    #: L2 norm of what is left of each row.
    residual_N: Tensor


def orthogonal_pursuit(
    rows_NX: Tensor, atoms_KX: Tensor, size: int, gram_KK: Tensor | None = None
) -> Code:
    """Approximate each row by at most ``size`` atoms (Pati et al. 1993).

    Greedy: the atom with the largest absolute dot product with the residual joins, then all weights
    are those of the least-squares fit on the atoms so far. Of a tie (:data:`TIE`) the first joins.
    The fit is kept as a QR factorisation that grows by one column a step. A row ends early where no
    atom lowers its residual any further: it is fitted, or what is left is orthogonal to every atom,
    up to rounding. Atoms are taken as they are, not at norm 1, as in mergekit's tokensurgeon.
    ``size`` is at most K and at most X.

    With ``gram_KK = atoms @ atoms.T`` the dot products with the residual are those with the row
    less those with the fit so far (Rubinstein et al. 2008, batch OMP): ``size`` products of length
    K in place of one with every atom, X wide. Weights and residuals are the same QR's either way.

    Memory: ``N * (K + (size + 4) * X)`` values beyond the inputs, and ``N * size * K`` with a Gram
    matrix.
    """
    import torch

    rows, width = rows_NX.shape
    # Rows are float32, so that what is smaller is their own rounding, whatever sums are made in.
    epsilon = 32 * torch.finfo(torch.float32).eps
    tie_N1 = TIE * rows_NX.norm(dim=1, keepdim=True) * atoms_KX.norm(dim=1).max()
    residual_NX = rows_NX.clone()
    basis_NSX = rows_NX.new_zeros(rows, size, width)
    factor_NSS = rows_NX.new_zeros(rows, size, size)
    factor_NSS.diagonal(dim1=1, dim2=2).fill_(1.0)  # of steps that a row does not take
    shares_NS = rows_NX.new_zeros(rows, size)
    index_NS = torch.zeros(rows, size, dtype=torch.int64, device=rows_NX.device)
    norm_N = rows_NX.norm(dim=1)
    active_N = norm_N > 0
    if gram_KK is not None:
        first_NK = rows_NX @ atoms_KX.T
        chosen_NSK = rows_NX.new_empty(rows, size, len(atoms_KX))
    for step in range(size):
        if gram_KK is None:
            similarity_NK = residual_NX @ atoms_KX.T
        else:
            fit_N1S = _solve(factor_NSS[:, :step, :step], shares_NS[:, :step])[:, None]
            similarity_NK = torch.baddbmm(
                first_NK[:, None], fit_N1S, chosen_NSK[:, :step], alpha=-1
            )[:, 0]
        similarity_NK = similarity_NK.abs_()
        if step:  # an atom is taken once; rounding leaves it a little similarity
            similarity_NK.scatter_(1, index_NS[:, :step], -1.0)
        most_N1 = similarity_NK.max(dim=1, keepdim=True).values
        best_N = (similarity_NK >= most_N1 - tie_N1).to(torch.uint8).argmax(dim=1)
        index_NS[:, step] = best_N
        if gram_KK is not None:
            chosen_NSK[:, step] = gram_KK[best_N]
        atom_NX = atoms_KX[best_N]
        # Gram-Schmidt twice: once loses orthogonality where atoms are nearly dependent.
        direction_NX, column_NS = atom_NX, factor_NSS.new_zeros(rows, step)
        for _ in range(2 if step else 0):
            # A row times a matrix, both times: a matrix times a column is nine times slower.
            basis_NsX = basis_NSX[:, :step]
            parts_NS = (direction_NX[:, None] @ basis_NsX.transpose(1, 2))[:, 0]
            direction_NX = direction_NX - (parts_NS[:, None] @ basis_NsX)[:, 0]
            column_NS = column_NS + parts_NS
        length_N = direction_NX.norm(dim=1)
        # A dependent atom cannot lower the residual; nor can any, once nothing is left.
        active_N = active_N & (length_N > epsilon * atom_NX.norm(dim=1))
        active_N = active_N & (residual_NX.norm(dim=1) > epsilon * norm_N)
        if not active_N.any():
            break
        unit_NX = direction_NX / length_N[:, None].clamp(min=torch.finfo(rows_NX.dtype).tiny)
        share_N = (unit_NX * residual_NX).sum(dim=1).masked_fill(~active_N, 0.0)
        basis_NSX[:, step] = unit_NX.masked_fill(~active_N[:, None], 0.0)
        factor_NSS[:, :step, step] = column_NS.masked_fill(~active_N[:, None], 0.0)
        factor_NSS[:, step, step] = torch.where(active_N, length_N, 1.0)
        shares_NS[:, step] = share_N
        residual_NX -= share_N[:, None] * basis_NSX[:, step]
    return Code(index_NS, _solve(factor_NSS, shares_NS), residual_NX.norm(dim=1))


def _solve(factor_NSS: Tensor, shares_NS: Tensor) -> Tensor:
    import torch

    return torch.linalg.solve_triangular(factor_NSS, shares_NS[:, :, None], upper=True)[:, :, 0]


def sparse_codes(inputs: MethodInputs, size: int) -> tuple[Tensor, Tensor, float]:
    """Return each missing token's atoms (positions among the shared tokens), weights [N, size], and
    the mean of the residuals' norms over the rows'.

    Blocks bound the memory. All in float64: of two atoms that are almost as similar, float32 may
    take the other one, and the code is another from there on.
    """
    import torch
    from tqdm import tqdm

    atoms_KX = inputs.guide_VX[inputs.overlap_target_N].double()
    count, width = atoms_KX.shape
    index_NS = inputs.missing_N.new_zeros(len(inputs.missing_N), size)
    weight_NS = inputs.guide_VX.new_zeros(len(inputs.missing_N), size)
    # A block holds its correlations with all atoms and its own orthonormal bases.
    shape = {"width": 2 * (count + (size + 4) * width)}
    gram_KK = None
    # Costs one product with every atom per atom, and saves `size` of them per token.
    if count**2 <= GRAM_ELEMENTS and len(index_NS) * size > count:
        gram_KK = atoms_KX @ atoms_KX.T
        shape = {"width": size * count, "elements": CHOSEN_ELEMENTS}
    error = 0.0
    parts = list(blocks(len(index_NS), **shape))
    quick = len(index_NS) * size * count < 1e8  # else some ten seconds or more
    for block in tqdm(parts, desc="omp", disable=quick, mininterval=2):
        wanted_NX = inputs.guide_VX[inputs.missing_N[block]].double()
        code = orthogonal_pursuit(wanted_NX, atoms_KX, size, gram_KK)
        index_NS[block], weight_NS[block] = code.index_NS, code.weight_NS.float()
        share_N = code.residual_N / wanted_NX.norm(dim=1).clamp(min=torch.finfo(torch.float32).tiny)
        error += float(share_N.sum())
    return index_NS, weight_NS, error / max(1, len(index_NS))


def initialise(inputs: MethodInputs, options: OmpOptions) -> Tensor:
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
    atoms_NS = inputs.overlap_source_N[index_NS]
    return torch.nn.functional.embedding_bag(
        atoms_NS, inputs.source_VD, mode="sum", per_sample_weights=weight_NS
    )


METHOD = Method(
    name="omp",
    label="OMP",
    summary="shared rows copied; a new row applies the helper row's sparse code over shared rows",
    citation="Goddard & Fernandes Neto 2025, Training-Free Tokenizer Transplantation via "
    "Orthogonal Matching Pursuit",
    options=OmpOptions,
    initialise=initialise,
    mixes_rows=True,
    needs_helper=True,
)
