"""Write a model's weight files: some anew, tensor by tensor, all others linked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from pathlib import Path
from typing import Any

from revocab.heavy_types import Tensor
from revocab.io import write_json
from revocab.links import link_or_copy
from revocab.models.folder import ModelFolder
from revocab.models.weights import INDEX, Part, replaced_parts, stored_parts, write_parts


def with_tensors(model: ModelFolder, tensors: Mapping[str, Tensor | None]) -> dict[str, list[Part]]:
    """Return the files that hold some tensors, with these replaced (same dtype) or left out."""
    own: dict[str, dict[str, Tensor | None]] = {}
    for name, tensor in tensors.items():
        own.setdefault(model.tensors[name][0], {})[name] = tensor
    return {file: replaced_parts(model.path / file, own[file]) for file in sorted(own)}


def link_weights(model: ModelFolder, out: Path) -> None:
    for name in (*model.files, *([INDEX] if model.index is not None else [])):
        link_or_copy(model.path / name, out / name)


def write_weights(
    model: ModelFolder,
    changed: Mapping[str, list[Part]],
    out: Path,
    *,
    link: Callable[[Path, Path], object] = link_or_copy,
    progress: bool = False,
) -> None:
    from tqdm import tqdm

    size = sum(part.size for parts in changed.values() for part in parts)
    quiet = None if progress else True
    with tqdm(total=size, unit="B", unit_scale=True, desc="writing", disable=quiet) as bar:
        for file in model.files:
            if file in changed:
                _, metadata = stored_parts(model.path / file)
                write_parts(out / file, changed[file], metadata, bar.update)
            else:
                link(model.path / file, out / file)
    if model.index is not None:
        write_json(out / INDEX, _new_index(model, model.index, changed))


def _new_index(
    model: ModelFolder, index: Mapping[str, Any], changed: Mapping[str, Iterable[Part]]
) -> dict[str, Any]:
    """Return the index, grown with the changed files; sorted where there are new names."""
    written = {part.name: file for file, parts in changed.items() for part in parts}
    placed = index["weight_map"].items()
    placed = {name: file for name, file in placed if file not in changed or name in written}
    if written.keys() - placed.keys():
        placed = dict(sorted({**placed, **written}.items()))
    grown = dict.fromkeys(("total_parameters", "total_size"), 0)
    for file, parts in changed.items():
        for sign, own in ((1, parts), (-1, model.parts[file].values())):
            grown["total_parameters"] += sign * sum(prod(part.shape) for part in own)
            grown["total_size"] += sign * sum(part.size for part in own)
    metadata = {key: value + grown.get(key, 0) for key, value in index.get("metadata", {}).items()}
    has_metadata = {"metadata": metadata} if "metadata" in index else {}
    return {**index, **has_metadata, "weight_map": placed}
