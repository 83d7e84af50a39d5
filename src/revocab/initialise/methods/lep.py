"""Learned Embedding Propagation: an adapted model's rows, for a relative of its base model.

The relative's rows are the base's by a linear map, without bias, which is applied to the adapted
model's. Suffixes: N rows of base and relative, V rows of the adapted model, D width.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from pydantic import Field

from revocab.heavy_types import Device, Tensor
from revocab.initialise.method import DonorRows, Method, MethodInputs, RowsOptions
from revocab.initialise.rows.alignment import CHUNK_ROWS, LeastSquares, map_rows
from revocab.initialise.rows.means import means_of, note_pieces, piece_means

#: Of all maps that fit equally well: the one nearest the identity, or the one of least norm.
Solve = Literal["least_change", "minimum_norm"]


class LepOptions(RowsOptions):
    """Which rows say how the relative differs from the base."""

    map: Literal["swap", "overlap", "conversion"] = Field(
        default="conversion",
        description="swap: none, rows are taken as they are; overlap: those of tokens that old and "
        "new vocabulary share; conversion: the subword means of every new token",
    )
    solve: Solve = Field(
        default="least_change",
        description="where rows do not determine the map: the smallest change, or the least norm, "
        "as released",
    )


def initialise(inputs: MethodInputs, options: LepOptions) -> Tensor:
    """Return ``C D`` for every token, with D from base rows E to the source's rows F.

    Tikhomirov and Chernyshev 2024, equations 7, 9, 13 and 14. Tokens that the adapted model lacks,
    and special tokens, are the source's own. Rows are rounded once to the source's dtype.
    """
    import torch

    donor = inputs.donor
    assert donor is not None  # needs_donor
    pieces = {token: inputs.pieces(token) for token in inputs.missing_N.tolist()}
    note_pieces(inputs, list(pieces.values()))
    change_DD = _change(inputs, donor, pieces, options)
    carried_V = torch.ones(inputs.target_rows, dtype=torch.bool, device=change_DD.device)
    if donor.adapted_known_V is not None:
        carried_V &= donor.adapted_known_V.to(carried_V.device)
    carried_V[inputs.kept_N] = False
    inputs.notes["rows_carried"] = int(carried_V.sum())
    rows_VD = inputs.source_VD.new_empty(inputs.target_rows, inputs.source_VD.shape[1])
    apply_change(donor.adapted_VD, change_DD, out_VD=rows_VD)
    # All other rows are what the source itself has for these tokens.
    own_N = ~carried_V[inputs.overlap_target_N]
    rows_VD[inputs.overlap_target_N[own_N]] = inputs.source_VD[inputs.overlap_source_N[own_N]]
    missing_N = inputs.missing_N[~carried_V[inputs.missing_N]]
    rest = replace(inputs, missing_N=missing_N, notes={})
    rows_VD[missing_N] = piece_means(rest, pieces.__getitem__).to(rows_VD.dtype)
    return rows_VD


def _change(
    inputs: MethodInputs, donor: DonorRows, pieces: dict[int, list[int]], options: LepOptions
) -> Tensor:
    """Return D without the identity, float64 [D, D]; zeros for a swap."""
    width = inputs.source_VD.shape[1]
    if options.map == "swap":
        return inputs.source_VD.new_zeros(width, width).double()
    conversion = [] if options.map == "overlap" else list(pieces.values())
    # For every row to fit, the source ids whose mean it is; the base has all of them.
    lists = [*([ids] for ids in inputs.overlap_source_N.tolist()), *conversion]
    if donor.base_known_V is not None:
        known = donor.base_known_V.tolist()
        lists = [ids for ids in lists if all(known[piece] for piece in ids)]
    lists = [ids for ids in lists if ids]
    inputs.notes["rows_fitted"] = len(lists)
    pairs = (
        (means_of(donor.base_VD, lists[start : start + CHUNK_ROWS]),
         means_of(inputs.source_VD, lists[start : start + CHUNK_ROWS]))
        for start in range(0, len(lists), CHUNK_ROWS)
    )  # fmt: skip
    change_DD = change_of_rows(pairs, width, options.solve, inputs.source_VD.device)
    inputs.notes["change_norm"] = float(change_DD.norm())
    return change_DD


def change_of_rows(
    pairs: Iterable[tuple[Tensor, Tensor]],
    width: int,
    solve: Solve = "least_change",
    device: Device | str = "cpu",
) -> Tensor:
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
    change_DD = LeastSquares(gram_PP).solve(right_PD, torch.float64).weight_XY
    if solve == "minimum_norm":
        change_DD.diagonal().sub_(1)
    return change_DD


def apply_change(rows_VD: Tensor, change_DD: Tensor, out_VD: Tensor) -> Tensor:
    """Return ``out_VD`` set to ``C + C X``, float32; C itself, bit for bit, where X is 0.

    It is computed in chunks of rows where X is, and rounded to the dtype of ``out_VD``.
    """
    nothing = not bool(change_DD.any())
    change_DD = change_DD.float()

    def change(chunk_ND: Tensor) -> Tensor:
        chunk_ND = chunk_ND.to(change_DD.device).float()
        return chunk_ND if nothing else chunk_ND + chunk_ND @ change_DD

    return map_rows(rows_VD, change, out_VD)


METHOD = Method(
    name="lep",
    label="LEP",
    colour="#117733",
    summary="the rows of an adapted model, mapped as the source differs from that model's base",
    citation="Tikhomirov and Chernyshev 2024, Facilitating Large Language Model Russian Adaptation "
    "with Learned Embedding Propagation",
    options=LepOptions,
    initialise=initialise,
    needs_donor=True,
    copies_overlap=False,
)
