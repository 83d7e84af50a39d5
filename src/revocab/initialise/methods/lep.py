"""Learned Embedding Propagation: an adapted model's rows, for a relative of its base model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from revocab.initialise.anchor_scaling import CHUNK_ROWS
from revocab.initialise.least_change import Solve, change_of_rows, changed
from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.piece_means import means_of, piece_means

if TYPE_CHECKING:
    import torch


class LepOptions(MethodOptions):
    """Which rows say how the relative differs from the base."""

    #: swap: none, rows are taken as they are; overlap: those of tokens that old and new vocabulary
    #: share; conversion: the subword means of every new token.
    map: Literal["swap", "overlap", "conversion"] = "conversion"
    #: Where rows do not determine the map: the smallest change, or the least norm, as released.
    solve: Solve = "least_change"


def initialise(inputs: MethodInputs, options: Any) -> torch.Tensor:
    """Return ``C D`` for every token, with D from base rows E to the source's rows F.

    Tikhomirov and Chernyshev 2024, equations 7, 9, 13 and 14. Tokens that the adapted model lacks,
    and special tokens, are the source's own: their rows, or the mean of their pieces.
    """
    import torch

    donor = inputs.donor
    assert donor is not None  # needs_donor
    rows_VD = inputs.source_VD.new_empty(inputs.target_rows, inputs.source_VD.shape[1])
    rows_VD[inputs.missing_N] = piece_means(inputs, inputs.pieces)
    rows_VD[inputs.overlap_target_N] = inputs.source_VD[inputs.overlap_source_N]
    change_DD = inputs.source_VD.new_zeros(rows_VD.shape[1], rows_VD.shape[1]).double()
    if options.map != "swap":
        lists = _fitted(inputs, options.map)
        inputs.notes["rows_fitted"] = len(lists)
        pairs = (
            (means_of(donor.base_VD, lists[start : start + CHUNK_ROWS]),
             means_of(inputs.source_VD, lists[start : start + CHUNK_ROWS]))
            for start in range(0, len(lists), CHUNK_ROWS)
        )  # fmt: skip
        change_DD = change_of_rows(pairs, rows_VD.shape[1], options.solve)
        inputs.notes["change_norm"] = float(change_DD.norm())
    carried_V = torch.ones(inputs.target_rows, dtype=torch.bool)
    if donor.adapted_known_V is not None:
        carried_V &= donor.adapted_known_V
    carried_V[inputs.kept_N] = False
    inputs.notes["rows_carried"] = int(carried_V.sum())
    start = 0
    for chunk_ND in changed(donor.adapted_VD, change_DD):
        part = slice(start, start + len(chunk_ND))
        rows_VD[part][carried_V[part]] = chunk_ND[carried_V[part]]
        start += len(chunk_ND)
    return rows_VD


def _fitted(inputs: MethodInputs, rows: Literal["overlap", "conversion"]) -> list[list[int]]:
    """Return, for every row to fit, the source ids whose mean it is; the base has all of them."""
    assert inputs.donor is not None
    known_V = inputs.donor.base_known_V
    lists = [[one] for one in inputs.overlap_source_N.tolist()]
    if rows == "conversion":
        lists += [inputs.pieces(token) for token in inputs.missing_N.tolist()]
    if known_V is not None:
        known = known_V.tolist()
        lists = [one for one in lists if all(known[piece] for piece in one)]
    return [one for one in lists if one]


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
