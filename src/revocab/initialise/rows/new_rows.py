"""Which rows of an adapted model are new: recorded beside it, and read to train these alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.heavy_types import Tensor

#: Ids of tokens whose rows are no copies of source rows, ascending; the same for both matrices.
FILE = "new_rows.npy"


def write_new_rows(folder: Path, new_N: Any) -> None:
    import numpy as np

    np.save(folder / FILE, np.asarray(new_N, np.int32))


def new_rows_file(folder: Path) -> Path:
    if not (folder / FILE).is_file():
        raise RevocabError(
            f"{folder}: no {FILE}, which says what rows are new; 'revocab init' writes it beside a"
            " model with a new vocabulary, and checkpoints do not have it: train new_rows in a"
            " stage of the recipe that starts from there"
        )
    return folder / FILE


def read_new_rows(folder: Path, rows: int) -> Tensor:
    import numpy as np
    import torch

    path = new_rows_file(folder)
    try:
        ids_N = np.load(path, allow_pickle=False)
        if ids_N.dtype != np.int32 or ids_N.ndim != 1 or (np.diff(ids_N) <= 0).any():
            raise ValueError("not ascending ids")
        if len(ids_N) and not 0 <= ids_N[0] <= ids_N[-1] < rows:
            raise ValueError(f"ids beyond the {rows} rows of the model")
    except (EOFError, ValueError) as error:
        raise RevocabError(
            f"{path}: damaged ({error}); make the model again with 'revocab init'"
        ) from error
    if not len(ids_N):
        raise RevocabError(f"{path}: no row is new; leave out stages that train new_rows")
    new_V = torch.zeros(rows, dtype=torch.bool)
    new_V[torch.from_numpy(ids_N).long()] = True
    return new_V
