"""Further tensors with a row per token, filled by the input embedding's rule from their own rows.

Suffixes: V source tokens, R rows of a stored table, T target tokens, W width, C columns of a layer.
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
from revocab.initialise.target_matrix import fill
from revocab.models.folder import ModelFolder, Which
from revocab.models.vocabulary.per_token_tensors import is_per_layer
from revocab.models.weights.files import equal_tensors

#: How wide the part of each layer is, in the configuration of a model with tables per layer.
LAYER_WIDTH = "hidden_size_per_layer_input"


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
    Tokens that a helper or auxiliary embeddings lack get the mean of their source pieces.
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
        columns = layer_width(model, name, stored_RW.shape[1])
        rows_TW, notes = fill_table(stored_RW, inputs, filler, its_options, columns)
        notes = {"name": filler.name, **notes}
        yield NewTable(name, list(table.shape), stored_RW, rows_TW, notes)


def layer_width(model: ModelFolder, name: str, width: int) -> int:
    """Return how many columns of a table belong together: those of a layer, else all."""
    layer = model.text_config.get(LAYER_WIDTH)
    if is_per_layer(name) and isinstance(layer, int) and layer > 0 and width % layer == 0:
        return layer
    return width


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
    stored_RW: Tensor,
    inputs: MethodInputs,
    method: Method,
    options: MethodOptions,
    columns: int,
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
