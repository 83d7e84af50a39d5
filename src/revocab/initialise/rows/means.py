"""Rows that need no other model: means, also over a token's source pieces (FVT), and draws.

Statistics of large matrices are float64 sums in cache-sized passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from revocab.heavy_types import Tensor
from revocab.initialise.method import MethodInputs

Distribution = Literal["uniform", "normal"]

#: Few enough rows that the float64 copy stays in the cache: 5 times faster than torch's reduction.
_ROWS = 256


def column_mean(matrix_VD: Tensor) -> Tensor:
    total_D: Any = sum(part.double().sum(0) for part in matrix_VD.split(_ROWS))
    return total_D / len(matrix_VD)


def zero_mean_rows(inputs: MethodInputs, variance: float, distribution: Distribution) -> Tensor:
    """Return a row per missing token, of draws of mean 0 and the given variance (float32)."""
    import torch

    shape, generator = (len(inputs.missing_N), inputs.source_VD.shape[1]), inputs.generator()
    if distribution == "normal":
        rows_ND = torch.randn(shape, generator=generator).mul_(variance**0.5)
    else:
        bound = (3 * variance) ** 0.5  # a uniform draw from ±a has the variance a² / 3
        rows_ND = torch.rand(shape, generator=generator).mul_(2 * bound).sub_(bound)
    return rows_ND.to(inputs.source_VD.device)


def normal_rows(inputs: MethodInputs, rows: int) -> Tensor:
    """Return ``rows`` draws from N(mean_D, std_D) of the source token rows (float32)."""
    import torch

    source_VD, mean_D = inputs.source_VD, column_mean(inputs.source_VD)
    squares_D: Any = sum((part - mean_D).square().sum(0) for part in source_VD.split(_ROWS))
    std_D = (squares_D / len(source_VD)).sqrt()
    noise_ND = torch.randn(rows, source_VD.shape[1], generator=inputs.generator())
    return noise_ND.to(source_VD.device).mul_(std_D.float()).add_(mean_D.float())


def piece_means(inputs: MethodInputs, pieces: Callable[[int], list[int]]) -> Tensor:
    """Return, per missing token, the mean source row over ``pieces(target id)``.

    A token without any piece gets the mean source row, where the released code would have left NaN.
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


def means_of(rows_VD: Tensor, lists: list[list[int]]) -> Tensor:
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
