"""The header of a safetensors file: a claim about the bytes that follow, checked by the library.

Eight bytes of header length, a JSON header, and the tensors' bytes without gaps
(https://github.com/huggingface/safetensors#format).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError

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

    The header may have ``__metadata__``; every other entry has ``dtype``, ``shape`` and
    ``data_offsets``. Raises :class:`RevocabError` for what the library refuses: a file cut short,
    a header that is not JSON, tensors outside the file, overlapping, or of other lengths than dtype
    and shape say.
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
