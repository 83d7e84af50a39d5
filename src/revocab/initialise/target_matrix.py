"""One vocabulary matrix of the target: copied rows, new rows, in the source's dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

from revocab.errors import RevocabError
from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.row_statistics import column_mean
from revocab.models.finite_weights import broken_rows

if TYPE_CHECKING:
    import torch


def _checked(rows_ND: torch.Tensor, inputs: MethodInputs, method: Method) -> torch.Tensor:
    """Return the rows without zeros; raise for anything that is not a number.

    A new row can only be zero where all it is made of is zero (reserved tokens that were never
    trained): it becomes the mean source row, and is counted.
    """
    import torch

    wanted = len(inputs.missing_N) if method.copies_overlap else inputs.target_rows
    if rows_ND.shape != (wanted, inputs.source_VD.shape[1]):
        raise RevocabError(
            f"method {method.name!r} returned shape {tuple(rows_ND.shape)}, expected "
            f"{(wanted, inputs.source_VD.shape[1])}; this is a fault of the method"
        )
    broken = int((~torch.isfinite(rows_ND)).any(dim=1).sum())
    if broken:
        raise RevocabError(
            f"method {method.name!r}, {inputs.matrix} matrix: {broken} rows are not finite; look "
            "for non-finite or extreme rows in the source and helper matrices"
        )
    zero_N = (rows_ND == 0).all(dim=1)
    inputs.notes["zero_rows_replaced"] = int(zero_N.sum())
    if zero_N.any():
        rows_ND[zero_N] = column_mean(inputs.source_VD).float()
    return rows_ND


def fill(
    source_VD: torch.Tensor, inputs: MethodInputs, method: Method, options: MethodOptions
) -> torch.Tensor:
    """Return the target matrix in the dtype of ``source_VD`` (the source as stored), on the CPU.

    Copied rows are the stored rows, bit for bit; only new rows pass through float32.
    """
    import torch

    with torch.inference_mode():
        rows_ND = _checked(method.initialise(inputs, options), inputs, method)
    target_VD = source_VD.new_empty(inputs.target_rows, source_VD.shape[1])
    new_ND = rows_ND.cpu().to(source_VD.dtype)
    if broken := broken_rows(new_ND):
        raise RevocabError(
            f"method {method.name!r}, {inputs.matrix} matrix: {len(broken)} new rows are too large"
            f" for {source_VD.dtype}, the source's dtype; save the source in float32 or bfloat16"
        )
    if not method.copies_overlap:
        return target_VD.copy_(new_ND)
    target_VD[inputs.overlap_target_N.cpu()] = source_VD[inputs.overlap_source_N.cpu()]
    target_VD[inputs.missing_N.cpu()] = new_ND
    return target_VD
