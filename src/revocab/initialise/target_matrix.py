"""One vocabulary matrix of the target: copied rows, new rows, in the source's dtype.

So are further tensors with a row per token filled, by the input embedding's rule from their own
rows. Suffixes: V source tokens, R rows of a stored table, T target tokens, W width, C columns of a
layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from revocab.errors import RevocabError
from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, MethodOptions
from revocab.initialise.options import table_method
from revocab.initialise.rows.alignment import map_rows
from revocab.initialise.rows.means import TOKENS_WITHOUT_AUXILIARY, column_mean, piece_means
from revocab.initialise.rows.source_weights import rows_with_words
from revocab.models.findings import broken_rows
from revocab.models.folder import ModelFolder, Which
from revocab.models.token_rows import is_per_layer
from revocab.models.weights import equal_tensors

#: How wide the part of each layer is, in the configuration of a model with tables per layer.
LAYER_WIDTH = "hidden_size_per_layer_input"


def new_rows(inputs: MethodInputs, method: Method, options: MethodOptions) -> Tensor:
    """Return the method's rows, with those of tokens that the helper or the vectors lack.

    Unless the method fills those in its own way, it sees no token that the helper lacks: new ones
    get the mean of their source pieces, and are counted in the notes. Nor does it see words of a
    list that start from what the list says.
    """
    if inputs.word_starts:
        noise = getattr(options, "words_noise", 0.0)
        return rows_with_words(inputs, noise, lambda rest: new_rows(rest, method, options))
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
    finite_N, zero_N = (rows_ND.new_empty(wanted, dtype=torch.bool) for _ in range(2))
    map_rows(rows_ND, lambda part_ND: part_ND.isfinite().all(dim=1), finite_N)
    map_rows(rows_ND, lambda part_ND: (part_ND == 0).all(dim=1), zero_N)
    broken = int((~finite_N).sum())
    # Rows in the source's dtype, which were rounded to it, are refused by :func:`fill`.
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


def shared_tables(model: ModelFolder, names: Iterable[str]) -> dict[str, Which]:
    """Return the tables of the same values as embedding or head, and which of the two it is.

    Such are those of a layer that predicts one more token, whose embedding and head are the
    model's own: DeepSeek-AI 2024, "DeepSeek-V3 Technical Report" (arXiv 2412.19437), section 2.2.
    """

    def place(name: str) -> tuple[Path, str]:
        return model.path / model.tensors[name][0], name

    return {
        name: which
        for name in names
        for which, matrix in model.vocabulary_tensors.items()
        if equal_tensors(place(name), place(matrix))
    }


class NewTable(NamedTuple):
    """A table of source and target, in the stored dtype; further dimensions are side by side."""

    name: str
    #: As stored.
    shape: list[int]
    stored_RW: Tensor
    rows_TW: Tensor
    #: The method's notes, and its name.
    notes: dict[str, Any]


def new_tables(
    model: ModelFolder,
    names: Iterable[str],
    inputs: MethodInputs,
    method: Method,
    options: MethodOptions,
) -> Iterator[NewTable]:
    """Yield each table of ``names``, filled by what :func:`table_method` has for ``method``.

    ``inputs`` are the input embedding's; of their ``source_VD`` only the number of rows counts.
    Tokens that a helper or auxiliary embeddings lack get the mean of their source pieces. Raises
    :class:`RevocabError` for quantised tables.
    """
    filler, its_options = table_method(method, options)
    inputs = replace(inputs, donor=None)
    if filler.needs(its_options) is None:
        inputs = replace(inputs, helper_VD=None, helper_known_V=None, auxiliary=None)
    filler = replace(filler, without_helper_row="pieces")
    for name in names:
        table = model.read(name)
        if not table.dtype.is_floating_point or table.element_size() < 2:
            raise RevocabError(
                f"{model.path}: {name} is stored as {table.dtype}, and so would its new rows have"
                " to be; use the unquantised model"
            )
        stored_RW = table.reshape(len(table), -1)
        columns = stored_RW.shape[1]
        layer: Any = model.text_config.get(LAYER_WIDTH)
        if is_per_layer(name) and isinstance(layer, int) and layer > 0 and columns % layer == 0:
            columns = layer
        rows_TW, notes = fill_table(stored_RW, inputs, filler, its_options, columns)
        notes = {"name": filler.name, **notes}
        yield NewTable(name, list(table.shape), stored_RW, rows_TW, notes)


def with_all_rows(stored_RC: Tensor, tokens: int) -> Tensor:
    """Return the rows of ``tokens`` source tokens; those beyond the table's have its first row.

    A table per layer may be shorter than the vocabulary, whose last tokens stand for images and
    sounds: Gemma 3n looks token 0 up for them.
    """
    import torch

    beyond = tokens - len(stored_RC)
    if beyond <= 0:
        return stored_RC[:tokens]
    return torch.cat([stored_RC, stored_RC[:1].expand(beyond, -1)])


def fill_table(
    stored_RW: Tensor, inputs: MethodInputs, method: Method, options: MethodOptions, columns: int
) -> tuple[Tensor, dict[str, Any]]:
    """Return the target's table [T, W] in the stored dtype, on the CPU, and the method's notes.

    Every ``columns`` columns are filled by themselves, as the embedding of their layer, so that no
    more of them are float32 at a time. Copied rows are the stored ones, bit for bit.
    """
    rows_TW = stored_RW.new_empty(inputs.target_rows, stored_RW.shape[1])
    notes: dict[str, Any] = {"zero_rows_replaced": 0}
    device = inputs.missing_N.device
    for begin in range(0, stored_RW.shape[1], columns):
        part = slice(begin, begin + columns)
        source_VC = with_all_rows(stored_RW[:, part], len(inputs.source_VD))
        own = replace(inputs, source_VD=source_VC.to(device).float(), notes={})
        rows_TW[:, part] = fill(source_VC, own, method, options)
        # A row may be zero in some layers alone.
        most = max(notes["zero_rows_replaced"], own.notes["zero_rows_replaced"])
        notes = {**own.notes, "zero_rows_replaced": most}
    return rows_TW, notes
