"""Orthogonal matching pursuit of many rows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import torch


class Code(NamedTuple):
    """Sparse codes: per row ``S`` atoms and their weights (0 where fewer were needed)."""

    index_NS: torch.Tensor
    weight_NS: torch.Tensor
    #: L2 norm of what is left of each row.
    residual_N: torch.Tensor


def orthogonal_pursuit(
    rows_NX: torch.Tensor,
    atoms_KX: torch.Tensor,
    size: int,
    gram_KK: torch.Tensor | None = None,
) -> Code:
    """Approximate each row by at most ``size`` atoms (Pati et al. 1993).

    Greedy: the atom with the largest absolute dot product with the residual joins, then all weights
    are those of the least-squares fit on the atoms so far. The fit is kept as a QR factorisation
    that grows by one column a step. A row ends early where no atom lowers its residual any further:
    it is fitted, or what is left is orthogonal to every atom, up to rounding. Atoms are taken as
    they are, not at norm 1, as in mergekit's tokensurgeon. ``size`` is at most K and at most X.

    With ``gram_KK = atoms @ atoms.T`` the dot products with the residual are those with the row
    less those with the fit so far (Rubinstein et al. 2008, batch OMP): ``size`` products of length
    K in place of one with every atom, X wide. Weights and residuals are the same QR's either way.

    Memory: ``N * (K + (size + 4) * X)`` values beyond the inputs, and ``N * size * K`` with a Gram
    matrix.
    """
    import torch

    rows, width = rows_NX.shape
    epsilon = 32 * torch.finfo(rows_NX.dtype).eps
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
        best_N = similarity_NK.argmax(dim=1)
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


def _solve(factor_NSS: torch.Tensor, shares_NS: torch.Tensor) -> torch.Tensor:
    """Return weights of the atoms from shares of the orthonormal basis."""
    import torch

    return torch.linalg.solve_triangular(factor_NSS, shares_NS[:, :, None], upper=True)[:, :, 0]
