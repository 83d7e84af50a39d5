"""``model.safetensors.index.json``: which shard holds which tensor, checked before it is believed.

The file comes with the model, from whoever made it. Its values become names of files that are read
and written, so they must be plain names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from revocab.errors import refuse
from revocab.io import read_json

#: The file of a model whose weights are in one file; else the index says where they are.
WEIGHTS = "model.safetensors"
#: The same of pickles, of which tensors are read at most (:mod:`revocab.models.rows_only`).
PICKLED = "pytorch_model.bin"


def index_of(weights: str) -> str:
    return f"{weights}.index.json"


INDEX = index_of(WEIGHTS)
_ENDING = ".safetensors"
#: What file systems allow a name to have, in bytes.
_LONGEST_NAME = 255
_SHOWN = 10


def _is_shard_name(name: Any, ending: str) -> bool:
    """Tell whether a value is a bare file name with an ending, on every operating system."""
    return (
        isinstance(name, str)
        and name.endswith(ending)
        and not name.startswith(".")
        and name.isprintable()
        and not any(sign in name for sign in "/\\:")
        and len(name.encode()) <= _LONGEST_NAME
    )


def first_of(problems: list[str]) -> list[str]:
    """Return the first problems and, where there are more, how many: shards hold thousands."""
    more = len(problems) - _SHOWN
    return problems if more <= 0 else [*problems[:_SHOWN], f"and {more} more like these"]


def _index_problems(index: Any, ending: str) -> Iterator[str]:
    if not isinstance(index, dict) or not isinstance(index.get("weight_map"), dict):
        yield "not an object with an object 'weight_map' of tensor names and file names"
        return
    if not index["weight_map"]:
        yield "its weight_map is empty"
    for tensor, file in index["weight_map"].items():
        if not _is_shard_name(file, ending):
            yield (
                f"weight_map has {file!r} for {tensor!r}; only names of files beside the index are "
                f"allowed, ending in {ending}, without folders"
            )
    metadata = index.get("metadata", {})
    if not isinstance(metadata, dict):
        yield f"its metadata is {metadata!r}, not an object"
        return
    for key in ("total_size", "total_parameters"):
        total = metadata.get(key, 0)
        if isinstance(total, bool) or not isinstance(total, (int, float)):
            yield f"its metadata has {key} = {total!r}, not a number"


def read_index(path: Path, ending: str = _ENDING) -> dict[str, Any]:
    """Return a shard index whose ``weight_map`` holds names of files in the same folder only.

    Raises :class:`RevocabError` naming every entry that is an absolute path, lies in another folder
    or is no name of a file with that ending, and totals that are no numbers.
    """
    index = read_json(path)
    problems = first_of(list(_index_problems(index, ending)))
    refuse(
        f"{path}: {problem}; do not use this model until you know why, or fetch it again"
        for problem in problems
    )
    return index


def placement_problems(
    folder: Path, weight_map: Mapping[str, str], stored: Mapping[str, list[str]]
) -> list[str]:
    """Return the tensors that an index and its shards (files by tensor) do not agree on."""
    problems = [
        f"{folder}: {INDEX} has {tensor} in {file}, which does not hold it"
        for tensor, file in weight_map.items()
        if file not in stored.get(tensor, ())
    ]
    problems += [
        f"{folder}: {file} holds {tensor}, which {INDEX} does not have there"
        for tensor, files in stored.items()
        for file in files
        if weight_map.get(tensor) != file
    ]
    return [f"{problem}; fetch the model again" for problem in first_of(problems)]
