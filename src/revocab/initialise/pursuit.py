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


def orthogonal_pursuit(rows_NX: torch.Tensor, atoms_KX: torch.Tensor, size: int) -> Code:
    """Approximate each row by at most ``size`` atoms (Pati et al. 1993).

    Greedy: the atom with the largest absolute dot product with the residual joins, then all weights
    are those of the least-squares fit on the atoms so far. The fit is kept as a QR factorisation
    that grows by one column a step. A row ends early where no atom lowers its residual any further:
    it is fitted, or what is left is orthogonal to every atom, up to rounding. Atoms are taken as
    they are, not at norm 1, as in mergekit's tokensurgeon. ``size`` is at most K and at most X.

    Memory: ``N * (K + (size + 4) * X)`` values beyond the inputs.
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
    for step in range(size):
        likeness_NK = (residual_NX @ atoms_KX.T).abs_()
        if step:  # an atom is taken once; rounding leaves it a little likeness
            likeness_NK.scatter_(1, index_NS[:, :step], -1.0)
        best_N = likeness_NK.argmax(dim=1)
        index_NS[:, step] = best_N
        atom_NX = atoms_KX[best_N]
        # Gram-Schmidt twice: once loses orthogonality where atoms are nearly dependent.
        direction_NX, column_NS = atom_NX, factor_NSS.new_zeros(rows, step)
        for _ in range(2 if step else 0):
            parts_NS = torch.einsum("nsx,nx->ns", basis_NSX[:, :step], direction_NX)
            direction_NX = direction_NX - torch.einsum("nsx,ns->nx", basis_NSX[:, :step], parts_NS)
            column_NS = column_NS + parts_NS
        length_N = direction_NX.norm(dim=1)
        # A dependent atom cannot lower the residual; nor can any, once nothing is left.
        active_N = active_N & (length_N > epsilon * atom_NX.norm(dim=1))
        active_N = active_N & (residual_NX.norm(dim=1) > epsilon * norm_N)
        if not active_N.any():
            break
        unit_NX = direction_NX / length_N[:, None].clamp(min=torch.finfo(rows_NX.dtype).tiny)
        share_N = torch.einsum("nx,nx->n", unit_NX, residual_NX).masked_fill(~active_N, 0.0)
        basis_NSX[:, step] = unit_NX.masked_fill(~active_N[:, None], 0.0)
        factor_NSS[:, :step, step] = column_NS.masked_fill(~active_N[:, None], 0.0)
        factor_NSS[:, step, step] = torch.where(active_N, length_N, 1.0)
        shares_NS[:, step] = share_N
        residual_NX -= share_N[:, None] * basis_NSX[:, step]
    weight_NS1 = torch.linalg.solve_triangular(factor_NSS, shares_NS[:, :, None], upper=True)
    return Code(index_NS, weight_NS1[:, :, 0], residual_NX.norm(dim=1))
