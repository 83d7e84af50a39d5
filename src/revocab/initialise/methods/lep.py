"""Learned Embedding Propagation: an adapted model's rows, for a relative of its base model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from revocab.initialise.method import DonorRows, Method, MethodInputs, RowsOptions
from revocab.initialise.rows.anchor_scaling import CHUNK_ROWS
from revocab.initialise.rows.least_change import Solve, apply_change, change_of_rows
from revocab.initialise.rows.piece_means import means_of, note_pieces, piece_means

if TYPE_CHECKING:
    import torch


class LepOptions(RowsOptions):
    """Which rows say how the relative differs from the base."""

    #: swap: none, rows are taken as they are; overlap: those of tokens that old and new vocabulary
    #: share; conversion: the subword means of every new token.
    map: Literal["swap", "overlap", "conversion"] = "conversion"
    #: Where rows do not determine the map: the smallest change, or the least norm, as released.
    solve: Solve = "least_change"


def initialise(inputs: MethodInputs, options: LepOptions) -> torch.Tensor:
    """Return ``C D`` for every token, with D from base rows E to the source's rows F.

    Tikhomirov and Chernyshev 2024, equations 7, 9, 13 and 14. Tokens that the adapted model lacks,
    and special tokens, are the source's own: their rows, or the mean of their pieces. Rows have the
    source's dtype: each is rounded once, when its chunk is done.
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
    _place_own(rows_VD, inputs, pieces, ~carried_V)
    return rows_VD


def _change(
    inputs: MethodInputs, donor: DonorRows, pieces: dict[int, list[int]], options: LepOptions
) -> torch.Tensor:
    """Return D without the identity, float64 [D, D]; zeros for a swap."""
    width = inputs.source_VD.shape[1]
    if options.map == "swap":
        return inputs.source_VD.new_zeros(width, width).double()
    conversion = [] if options.map == "overlap" else list(pieces.values())
    lists = _fitted(inputs, donor.base_known_V, conversion)
    inputs.notes["rows_fitted"] = len(lists)
    pairs = (
        (means_of(donor.base_VD, lists[start : start + CHUNK_ROWS]),
         means_of(inputs.source_VD, lists[start : start + CHUNK_ROWS]))
        for start in range(0, len(lists), CHUNK_ROWS)
    )  # fmt: skip
    change_DD = change_of_rows(pairs, width, options.solve, inputs.source_VD.device)
    inputs.notes["change_norm"] = float(change_DD.norm())
    return change_DD


def _fitted(
    inputs: MethodInputs, known_V: torch.Tensor | None, pieces: list[list[int]]
) -> list[list[int]]:
    """Return, for every row to fit, the source ids whose mean it is; the base has all of them."""
    lists = [*([ids] for ids in inputs.overlap_source_N.tolist()), *pieces]
    if known_V is not None:
        known = known_V.tolist()
        lists = [ids for ids in lists if all(known[piece] for piece in ids)]
    return [ids for ids in lists if ids]


def _place_own(
    rows_VD: torch.Tensor, inputs: MethodInputs, pieces: dict[int, list[int]], own_V: torch.Tensor
) -> None:
    """Set the rows of the tokens in ``own_V`` (bool) to what the source itself has for them."""
    own_N = own_V[inputs.overlap_target_N]
    rows_VD[inputs.overlap_target_N[own_N]] = inputs.source_VD[inputs.overlap_source_N[own_N]]
    missing_N = inputs.missing_N[own_V[inputs.missing_N]]
    rest = replace(inputs, missing_N=missing_N, notes={})
    rows_VD[missing_N] = piece_means(rest, pieces.__getitem__).to(rows_VD.dtype)


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
