"""Rows as means over the source pieces of a token: FVT, and what other methods fall back on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from revocab.initialise.method import MethodInputs
from revocab.initialise.rows.row_statistics import column_mean

if TYPE_CHECKING:
    import torch


def piece_means(inputs: MethodInputs, pieces: Callable[[int], list[int]]) -> torch.Tensor:
    """Return, per missing token, the mean source row over ``pieces(target id)``.

    A token without any piece gets the mean source row and is counted in the notes, where the
    released code would have left NaN.
    """
    import torch

    source_VD = inputs.source_VD
    lists = [pieces(token) for token in inputs.missing_N.tolist()]
    if not lists:
        return source_VD.new_empty(0, source_VD.shape[1])
    rows_ND = means_of(source_VD, lists)
    empty_N = torch.tensor([not ids for ids in lists], device=source_VD.device)
    if empty_N.any():
        rows_ND[empty_N] = column_mean(source_VD).float()
    note_pieces(inputs, lists)
    return rows_ND


def note_pieces(inputs: MethodInputs, lists: Sequence[Sequence[int]]) -> None:
    """Note of the pieces of each missing token how many there are; of no token, nothing."""
    if lists:
        inputs.notes["pieces_per_token"] = round(sum(map(len, lists)) / len(lists), 4)
        inputs.notes["tokens_without_pieces"] = sum(not ids for ids in lists)


def means_of(rows_VD: torch.Tensor, lists: list[list[int]]) -> torch.Tensor:
    """Return the mean row over each list of ids, float32 [lists, D]; zeros for an empty list."""
    import torch

    lengths = torch.tensor([len(ids) for ids in lists], dtype=torch.int64)
    flat = torch.tensor([piece for ids in lists for piece in ids], dtype=torch.int64)
    offsets = (torch.cumsum(lengths, 0) - lengths).to(rows_VD.device)
    flat = flat.to(rows_VD.device)
    if rows_VD.dtype != torch.float32:  # only the rows in use are widened
        used, flat = flat.unique(return_inverse=True)
        rows_VD = rows_VD[used].float()
    return torch.nn.functional.embedding_bag(flat, rows_VD, offsets, mode="mean")
