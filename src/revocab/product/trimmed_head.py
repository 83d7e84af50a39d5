"""A head of some tokens: a model keeps its ids and input rows, and computes fewer logits.

The head of a large vocabulary is much of a small model's step. A folder has the kept rows and their
ids (``head.safetensors``: ``weight`` [K, D] in the stored dtype, ``ids`` int64 [K], ascending), and
:func:`use_head` lets a loaded model compute these logits alone; all others are -inf. Suffixes:
V rows of the model's head, K kept ones, D width.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedModel, ndarray
from revocab.io import write_json
from revocab.models import origin
from revocab.models.trimmed_model import TrimmableModel
from revocab.models.weights import write_parts

FILE = "head.safetensors"


def write_head(
    model: TrimmableModel, kept_N: ndarray, facts: Mapping[str, Any], folder: Path
) -> None:
    """Write the head's rows of ``kept_N`` (ascending), to the bit, with their ids."""
    import torch

    source = model.folder
    (name,) = model.tables
    head = source.parts[source.tensors[name][0]][name]
    rows = replace(head.gathered(kept_N), name="weight")
    ids = replace(head, name="ids", dtype="I64").replaced(torch.from_numpy(kept_N))
    write_parts(folder / FILE, [ids, rows], {"format": "pt"})
    manifest = {
        "change": "trim",
        "head_only": True,
        **facts,
        "tensors": {name: list(rows.shape)},
        "body": {"name": origin.name_of(source.path), **origin.fingerprint(source, source.path)},
        "libraries": origin.library_versions(),
    }
    write_json(folder / "manifest.json", manifest)


def use_head(model: PreTrainedModel, folder: str | Path) -> None:
    """Let a model of transformers compute the logits of a folder's head alone, until it is loaded
    again; ``model.generate`` then writes no other tokens.

    Raises :class:`RevocabError` where the rows are not the model's.
    """
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        stored = load_file(Path(folder) / FILE)
        weight_KD, ids_K = stored["weight"], stored["ids"]
    except (OSError, KeyError, SafetensorError) as error:
        raise RevocabError(
            f"{folder}: no head ({error}); give a folder of 'revocab trim --head-only'"
        ) from error
    full = model.get_output_embeddings()
    rows, width = full.weight.shape
    weight_KD, ids_K = weight_KD.to(full.weight), ids_K.to(full.weight.device)
    fits = len(ids_K) and weight_KD.shape == (len(ids_K), width)
    fits = fits and ids_K.dtype == torch.int64 and bool(((ids_K >= 0) & (ids_K < rows)).all())
    if not fits or getattr(full, "bias", None) is not None:
        raise RevocabError(
            f"{folder}: a head of {tuple(weight_KD.shape)} for {ids_K.numel()} ids, and the model's"
            f" is {(rows, width)}, or has a bias; give the head of this model"
        )
    if not torch.equal(weight_KD, full.weight[ids_K]):
        raise RevocabError(f"{folder}: its rows are not the model's; trim its head anew")
    head = torch.nn.Linear(width, len(ids_K), bias=False, device="meta")
    head.weight = torch.nn.Parameter(weight_KD, requires_grad=False)
    model.set_output_embeddings(head)

    def spread(_module: Any, _inputs: Any, output: Any) -> Any:
        # After what the model itself does to logits: a soft cap would make -inf a number.
        part = output.logits
        everything = part.new_full((*part.shape[:-1], rows), -torch.inf)
        output.logits = everything.index_copy_(-1, ids_K, part)
        return output

    model.register_forward_hook(spread)
