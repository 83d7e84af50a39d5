"""The header of a safetensors file, read as what it is: a claim about the bytes that follow.

Eight bytes of header length, a JSON header, and the tensors' bytes without gaps
(https://github.com/huggingface/safetensors#format).
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.models.shard_index import first_of

#: The library's own limit, in bytes; a number beyond it is not a header length.
_LONGEST_HEADER = 100_000_000
#: Names of floating-point dtypes in torch; of other dtypes every value is finite.
FLOATS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}
_BITS = {
    **dict.fromkeys(("F4",), 4),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    **dict.fromkeys(("BOOL", "U8", "I8"), 8),
    **dict.fromkeys(("F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2", "F8_E5M2FNUZ", "F8_E8M0"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_counts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_count, value))


def _form_problem(entry: Any) -> str | None:
    """Return what is wrong with the form of one tensor's entry."""
    if not isinstance(entry, dict):
        return f"has {entry!r} instead of dtype, shape and data_offsets"
    dtype, shape = entry.get("dtype"), entry.get("shape")
    offsets: Any = entry.get("data_offsets")
    if not isinstance(dtype, str):
        return f"has the dtype {dtype!r}, not a name"
    if not _is_counts(shape):
        return f"has the shape {shape!r}, not a list of sizes"
    if not _is_counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        return f"has the data_offsets {offsets!r}, not a start and an end"
    return None


def _size_problem(entry: dict[str, Any], size: int) -> str | None:
    """Return where a tensor does not fit into the file, or into its own bytes."""
    dtype, shape, (begin, end) = (entry[key] for key in ("dtype", "shape", "data_offsets"))
    if end > size:
        return f"ends at byte {end:,} of {size:,}"
    # A dtype newer than this table is nothing to complain of: such tensors are copied as bytes.
    bits = _BITS.get(dtype)
    if bits is not None and math.prod(shape) * bits != (end - begin) * 8:
        return f"has {end - begin:,} bytes, which is not {dtype} × {shape}"
    return None


def _gap_problem(tensors: dict[str, Any], size: int) -> str | None:
    """Return where tensors overlap, or leave bytes that belong to none."""
    position, before = 0, "the header"
    for name in sorted(tensors, key=lambda one: (tensors[one]["data_offsets"], one)):
        begin, end = tensors[name]["data_offsets"]
        if begin != position:
            what = "overlaps" if begin < position else "leaves unused bytes after"
            return f"tensor {name!r} {what} {before!r}"
        position, before = end, name
    return None if position == size else f"{size - position:,} bytes belong to no tensor"


def _problems(header: Any, size: int) -> Iterator[str]:
    if not isinstance(header, dict):
        yield "its header is not an object"
        return
    metadata = header.get("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(one, str) for one in metadata.values()):
        yield "its __metadata__ is not an object of strings"
    tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
    wrong = {
        name: _form_problem(entry) or _size_problem(entry, size) for name, entry in tensors.items()
    }
    wrong = {name: problem for name, problem in wrong.items() if problem}
    yield from first_of([f"tensor {name!r} {problem}" for name, problem in wrong.items()])
    gap = None if wrong else _gap_problem(tensors, size)
    if gap:
        yield gap


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """Return a file's header and the offset at which its tensors begin.

    The header may have ``__metadata__``; every other entry has ``dtype``, ``shape`` and
    ``data_offsets``. Raises :class:`RevocabError` with everything that is wrong: a file cut short,
    a header that is not JSON, tensors outside the file, overlapping, or of other lengths than dtype
    and shape say.
    """
    with path.open("rb") as handle:
        start = handle.read(8)
        if len(start) < 8:
            raise RevocabError(f"{path}: not a safetensors file (shorter than its header)")
        length = struct.unpack("<Q", start)[0]
        if length > _LONGEST_HEADER:
            raise RevocabError(f"{path}: not a safetensors file (header of {length} bytes)")
        size = os.fstat(handle.fileno()).st_size - 8 - length
        if size < 0:
            raise RevocabError(f"{path}: ends within its header; fetch it again")
        try:
            header = json.loads(handle.read(length))
        except (ValueError, RecursionError) as error:
            raise RevocabError(f"{path}: broken safetensors header ({error})") from None
    problems = list(_problems(header, size))
    if problems:
        raise RevocabError(
            f"{path}: {problem}; the file is damaged or was not written as safetensors: fetch it "
            "again"
            for problem in problems
        )
    return header, 8 + length
