"""The linear map, without bias, from one model's rows to a relative's, and its application.

Suffixes: N rows of both models, V rows of the model that the map is applied to, D width.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from revocab.initialise.rows.alignment import LeastSquares
from revocab.initialise.rows.anchor_scaling import map_rows

if TYPE_CHECKING:
    import torch

#: Of all maps that fit equally well: the one nearest the identity, or the one of least norm.
Solve = Literal["least_change", "minimum_norm"]


def change_of_rows(
    pairs: Iterable[tuple[torch.Tensor, torch.Tensor]],
    width: int,
    solve: Solve = "least_change",
    device: torch.device | str = "cpu",
) -> torch.Tensor:
    """Return X [D, D], float64, such that ``A + A X`` is nearest to B in squares.

    ``pairs`` yields rows of A and B in chunks, of any dtype. ``least_change``: the smallest such X,
    so that A = B gives exactly 0, whatever the rank of A. ``minimum_norm``: the smallest I + X. At
    full rank they are one. Normal equations in float64 on ``device``, wherever the rows are.
    """
    import torch

    gram_PP = torch.zeros(width + 1, width + 1, dtype=torch.float64, device=device)
    right_PD = torch.zeros(width + 1, width, dtype=torch.float64, device=device)
    for first, second in pairs:
        a_ND, b_ND = first.to(device).double(), second.to(device).double()
        wanted_ND = b_ND - a_ND if solve == "least_change" else b_ND
        gram_PP[:-1, :-1].addmm_(a_ND.T, a_ND)
        right_PD[:-1].addmm_(a_ND.T, wanted_ND)
    # Sums of zero and one row: the map has no bias, and nothing is centred.
    gram_PP[-1, -1] = 1
    found_DD = LeastSquares(gram_PP).solve(right_PD, torch.float64).weight_XY
    if solve == "minimum_norm":
        found_DD.diagonal().sub_(1)
    return found_DD


def apply_change(
    rows_VD: torch.Tensor, change_DD: torch.Tensor, out_VD: torch.Tensor
) -> torch.Tensor:
    """Return ``out_VD`` set to ``C + C X``, float32; C itself, bit for bit, where X is 0.

    It is computed in chunks of rows where X is, and rounded to the dtype of ``out_VD``.
    """
    nothing = not bool(change_DD.any())
    change_DD = change_DD.float()

    def change(chunk_ND: torch.Tensor) -> torch.Tensor:
        chunk_ND = chunk_ND.to(change_DD.device).float()
        return chunk_ND if nothing else chunk_ND + chunk_ND @ change_DD

    return map_rows(rows_VD, change, out_VD)
