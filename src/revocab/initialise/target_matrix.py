"""One vocabulary matrix of the target: copied rows, new rows, in the source's dtype."""

from __future__ import annotations

from dataclasses import replace

from revocab.errors import RevocabError
from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.rows.anchor_scaling import map_rows
from revocab.initialise.rows.auxiliary import TOKENS_WITHOUT_AUXILIARY
from revocab.initialise.rows.means import column_mean, piece_means
from revocab.models.weights.finite import broken_rows


def new_rows(inputs: MethodInputs, method: Method, options: MethodOptions) -> Tensor:
    """Return the method's rows, with those of tokens that the helper or the vectors lack.

    Unless the method fills those in its own way, it sees what source, target and helper share as
    shared and the new tokens that the helper has as missing. The other new tokens get the mean of
    their source pieces, and are counted in the notes.
    """
    known_V, lacking = inputs.helper_known_V, "tokens_without_helper_row"
    if inputs.auxiliary is not None:
        known_V, lacking = inputs.auxiliary.target_VA.any(dim=1), TOKENS_WITHOUT_AUXILIARY
    if known_V is None or method.without_helper_row == "own":
        return own_rows(inputs, method, options)
    known_M, known_N = known_V[inputs.missing_N], known_V[inputs.overlap_target_N]
    served = replace(
        inputs,
        overlap_target_N=inputs.overlap_target_N[known_N],
        overlap_source_N=inputs.overlap_source_N[known_N],
        missing_N=inputs.missing_N[known_M],
    )
    rest = replace(inputs, missing_N=inputs.missing_N[~known_M], notes={})
    rows_MD = inputs.source_VD.new_empty(len(known_M), inputs.source_VD.shape[1])
    rows_MD[known_M] = own_rows(served, method, options)
    rows_MD[~known_M] = piece_means(rest, inputs.pieces)
    inputs.notes[lacking] = len(rest.missing_N)
    return rows_MD


def own_rows(inputs: MethodInputs, method: Method, options: MethodOptions) -> Tensor:
    if method.initialise is not None:
        return method.initialise(inputs, options)
    assert method.source_weights is not None  # else no matrix is made
    return method.source_weights(inputs, options).combine(inputs.source_VD)


def _checked(rows_ND: Tensor, inputs: MethodInputs, method: Method) -> Tensor:
    """Return the rows without zeros; raise for anything that is not a number.

    A new row is zero where all it is made of is (reserved tokens that were never trained): it
    becomes the mean source row, and is counted.
    """
    import torch

    wanted = len(inputs.missing_N) if method.copies_overlap else inputs.target_rows
    if rows_ND.shape != (wanted, inputs.source_VD.shape[1]):
        raise RevocabError(
            f"method {method.name!r} returned shape {tuple(rows_ND.shape)}, expected "
            f"{(wanted, inputs.source_VD.shape[1])}; this is a fault of the method"
        )
    finite_N, zero_N = (rows_ND.new_empty(wanted, dtype=torch.bool) for _ in range(2))
    map_rows(rows_ND, lambda part_ND: part_ND.isfinite().all(dim=1), finite_N)
    map_rows(rows_ND, lambda part_ND: (part_ND == 0).all(dim=1), zero_N)
    broken = int((~finite_N).sum())
    # What rows in the source's dtype are not, because they were rounded to it, is told below.
    if broken and rows_ND.dtype == torch.float32:
        raise RevocabError(
            f"method {method.name!r}, {inputs.matrix} matrix: {broken} rows are not finite; look "
            "for non-finite or extreme rows in the source and helper matrices"
        )
    inputs.notes["zero_rows_replaced"] = int(zero_N.sum())
    if zero_N.any():
        rows_ND[zero_N] = column_mean(inputs.source_VD).float().to(rows_ND.dtype)
    return rows_ND


def fill(source_VD: Tensor, inputs: MethodInputs, method: Method, options: MethodOptions) -> Tensor:
    """Return the target matrix in the dtype of ``source_VD`` (the source as stored), on the CPU.

    Copied rows are the stored rows, bit for bit; only new rows pass through float32.
    """
    import torch

    with torch.no_grad():  # not inference mode, whose tensors cannot be changed by who gets them
        rows_ND = _checked(new_rows(inputs, method, options), inputs, method)
    new_ND = rows_ND.cpu().to(source_VD.dtype)
    if broken := broken_rows(new_ND):
        raise RevocabError(
            f"method {method.name!r}, {inputs.matrix} matrix: {len(broken)} new rows are too large"
            f" for {source_VD.dtype}, the source's dtype; save the source in float32 or bfloat16"
        )
    if not method.copies_overlap:
        return new_ND
    target_VD = source_VD.new_empty(inputs.target_rows, source_VD.shape[1])
    target_VD[inputs.overlap_target_N.cpu()] = source_VD[inputs.overlap_source_N.cpu()]
    target_VD[inputs.missing_N.cpu()] = new_ND
    return target_VD
