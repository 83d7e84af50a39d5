"""Weight files of a model: safetensors tensor by tensor, and the index of its shards.

A file has eight bytes of header length, a JSON header, and the tensors' bytes without gaps
(https://github.com/huggingface/safetensors#format). The library writes only dictionaries held in
memory; here a file is a list of parts, whose bytes are read or computed when their turn comes. The
values of an index, from whoever made it, become names of files, so it is checked first.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError, refuse
from revocab.heavy_types import Tensor, ndarray
from revocab.io import read_json

#: The file of a model whose weights are in one file; else the index says where they are.
WEIGHTS = "model.safetensors"
#: The same of pickles, of which tensors are read at most (:func:`revocab.models.fetch.fetch_rows`).
PICKLED = "pytorch_model.bin"
INDEX = f"{WEIGHTS}.index.json"
#: What file systems allow a name to have, in bytes.
_LONGEST_NAME = 255
#: Problems of tensors that a message names.
_FIRST = 10
#: Bytes in memory at a time, of whole values; larger blocks leave the processor's cache.
BLOCK_BYTES = 1 << 24
#: Names of floating-point dtypes in torch; of other dtypes every value is finite.
FLOATS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """Return a file's header and the offset at which its tensors begin.

    Raises :class:`RevocabError` for what the library refuses: a file cut short, a header that is
    not JSON, tensors outside the file, overlapping, or of other lengths than dtype and shape say.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy"):  # which does not import torch
            pass
    except SafetensorError as error:
        raise RevocabError(
            f"{path}: {error}; the file is damaged or was not written as safetensors: fetch it"
            " again"
        ) from None
    with path.open("rb") as handle:
        length = int.from_bytes(handle.read(8), "little")
        return json.loads(handle.read(length)), 8 + length


@dataclass(frozen=True)
class Part:
    """One tensor of a file to write."""

    name: str
    #: As safetensors names it: ``BF16``.
    dtype: str
    shape: Sequence[int]
    #: In bytes.
    size: int
    #: Yields exactly ``size`` bytes in order, at most so many at a time.
    blocks: Callable[[int], Iterable[bytes | bytearray | memoryview]]

    def zeroed(self) -> Part:
        def zeros(most: int) -> Iterator[bytes]:
            for start in range(0, self.size, most):
                yield bytes(min(most, self.size - start))

        return replace(self, blocks=zeros)

    def replaced(self, tensor: Tensor) -> Part:
        def in_memory(most: int) -> Iterator[memoryview]:
            stored = tensor_bytes(tensor)
            for start in range(0, len(stored), most):
                yield stored[start : start + most]

        size = tensor.numel() * tensor.element_size()
        return replace(self, shape=list(tensor.shape), size=size, blocks=in_memory)

    def gathered(self, rows_N: ndarray) -> Part:
        """Return some rows alone, of the first dimension of more than one; ``rows_N`` ascend."""
        import numpy as np

        place = next((n for n, length in enumerate(self.shape) if length > 1), 0)
        width = self.size // math.prod(self.shape[: place + 1])

        def picked(most: int) -> Iterator[memoryview]:
            step = max(1, most // width)
            for number, block in enumerate(self.blocks(step * width)):
                begin = number * step
                first, end = np.searchsorted(rows_N, (begin, begin + step))
                if first < end:
                    stored_NB = np.frombuffer(block, np.uint8).reshape(-1, width)
                    yield stored_NB[rows_N[first:end] - begin].reshape(-1).data

        shape = [*self.shape[:place], len(rows_N), *self.shape[place + 1 :]]
        return replace(self, shape=shape, size=len(rows_N) * width, blocks=picked)


def tensor_bytes(tensor: Tensor) -> memoryview:
    import torch

    return tensor.contiguous().flatten().view(torch.uint8).numpy().data


def _stored_blocks(path: Path, start: int, length: int, most: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while length:
            block = file.read(min(most, length))
            if not block:
                raise RevocabError(f"{path}: ends before its header says; fetch it again")
            yield block
            length -= len(block)


def stored_parts(path: Path) -> tuple[dict[str, Part], dict[str, str] | None]:
    """Return the tensors of a file by name, in the order of their bytes, and its metadata."""
    header, start = read_header(path)
    metadata = header.pop("__metadata__", None)
    parts = {}
    for name, entry in sorted(header.items(), key=lambda item: (item[1]["data_offsets"], item[0])):
        begin, end = entry["data_offsets"]
        blocks = partial(_stored_blocks, path, start + begin, end - begin)
        parts[name] = Part(name, entry["dtype"], entry["shape"], end - begin, blocks)
    return parts, metadata


def write_parts(
    out: Path,
    parts: Iterable[Part],
    metadata: dict[str, str] | None = None,
    advance: Callable[[int], object] = bool,
) -> None:
    parts = list(parts)
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    position = 0
    for part in parts:
        places = [position, position + part.size]
        header[part.name] = {"dtype": part.dtype, "shape": [*part.shape], "data_offsets": places}
        position += part.size
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with out.open("wb") as target:
        target.write(struct.pack("<Q", len(text)) + text)
        for part in parts:
            for block in part.blocks(BLOCK_BYTES):
                target.write(block)
                advance(len(block))


def replaced_parts(path: Path, tensors: Mapping[str, Tensor | None]) -> list[Part]:
    """Return a file's tensors in its order, some replaced (same dtype) or left out (``None``)."""
    changed = []
    for name, part in stored_parts(path)[0].items():
        if name not in tensors:
            changed.append(part)
        elif (tensor := tensors[name]) is not None:
            changed.append(part.replaced(tensor))
    return changed


def read_tensor(path: Path, name: str) -> Tensor:
    from safetensors import safe_open

    with safe_open(path, framework="pt") as handle:
        return handle.get_tensor(name)


def equal_tensors(first: tuple[Path, str], second: tuple[Path, str]) -> bool:
    """Tell whether two stored tensors hold the same values, comparing blocks of rows."""
    import torch
    from safetensors import safe_open

    with safe_open(first[0], "pt") as here, safe_open(second[0], "pt") as there:
        parts = here.get_slice(first[1]), there.get_slice(second[1])
        (shape, dtype), other_form = ((part.get_shape(), part.get_dtype()) for part in parts)
        if (shape, dtype) != other_form:
            return False
        rows = max(1, BLOCK_BYTES // max(1, 4 * math.prod(shape[1:])))
        return all(
            torch.equal(*(part[at : at + rows] for part in parts))
            for at in range(0, shape[0], rows)
        )


def parameter_bytes(folder: Path, dtype: str) -> int | None:
    """Return the bytes of a folder's weights in ``dtype`` (``auto``: as stored), if any."""
    import torch

    parts = [p for path in folder.glob("*.safetensors") for p in stored_parts(path)[0].values()]
    if dtype == "auto":
        return sum(part.size for part in parts) or None
    return sum(math.prod(part.shape) for part in parts) * getattr(torch, dtype).itemsize or None


def first_of(problems: list[str]) -> list[str]:
    """Return the first problems and, where there are more, how many: shards hold thousands."""
    more = len(problems) - _FIRST
    return problems if more <= 0 else [*problems[:_FIRST], f"and {more} more like these"]


def _index_problems(index: Any, ending: str) -> Iterator[str]:
    if not isinstance(index, dict) or not isinstance(index.get("weight_map"), dict):
        yield "not an object with an object 'weight_map' of tensor names and file names"
        return
    if not index["weight_map"]:
        yield "its weight_map is empty"
    for tensor, file in index["weight_map"].items():
        # A bare name on every operating system.
        if not (
            isinstance(file, str)
            and file.endswith(ending)
            and not file.startswith(".")
            and file.isprintable()
            and not any(sign in file for sign in "/\\:")
            and len(file.encode()) <= _LONGEST_NAME
        ):
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


def read_index(path: Path, ending: str = ".safetensors") -> dict[str, Any]:
    """Return a shard index whose ``weight_map`` holds names of files in the same folder only.

    Raises :class:`RevocabError` naming every entry that is an absolute path, lies in another folder
    or is no name of a file with that ending, and totals that are no numbers.
    """
    index = read_json(path)
    refuse(
        f"{path}: {problem}; do not use this model until you know why, or fetch it again"
        for problem in first_of(list(_index_problems(index, ending)))
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
