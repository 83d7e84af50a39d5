"""Packed rows in array files of bounded size (shards): an index, a checksum each, rows by number.

Every shard is a ``.npy`` of its own, ``tokens-00000.npy`` and so on; of conversations
``starts-00000.npy`` and ``answers-00000.npy`` beside it hold one bit a token for the same rows.
How rows are cut into shards changes nothing that is computed from them, nor the checksum of the
whole.
"""

from __future__ import annotations

import errno
import hashlib
import io as streams
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from revocab import io
from revocab.errors import RevocabError, refuse

#: Large enough that a corpus of a billion tokens has few files, small enough to copy one again.
SHARD_BYTES = 256 * 2**20
#: Shards mapped at once: rows are read and written nearly in order, so more would not be used.
OPEN_SHARDS = 8
#: What shards hold, by the beginning of their names, and the key of each one's checksum.
CHECKSUM_KEYS = {"tokens": "sha256", "starts": "starts_sha256", "answers": "answers_sha256"}
#: What of each token of a conversation is marked: where one begins, and what is learned.
MARKS = ("starts", "answers")
#: A file system that cannot take room ahead: writing finds out instead.
UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})


class ShardedRows:
    """Rows [rows, width] that lie in several array files, of which few are mapped at a time."""

    def __init__(
        self, files: Sequence[Path], firsts: Sequence[int], mode: Literal["r", "r+"] = "r"
    ):
        self.files = list(files)
        #: Number of the first row of each file, ascending from 0.
        self.firsts = np.asarray(firsts)
        self._map = lru_cache(OPEN_SHARDS)(lambda number: np.load(self.files[number], mode))

    def _parts(self, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield (file, places within ``rows``, rows within the file) for each file met."""
        owners = np.searchsorted(self.firsts, rows, side="right") - 1
        for number in np.unique(owners).tolist():
            places = np.flatnonzero(owners == number)
            yield number, places, rows[places] - self.firsts[number]

    def __getitem__(self, rows: int | Sequence[int]) -> np.ndarray:
        """Return one row [width], or rows [B, width] in the order asked for."""
        if isinstance(rows, int | np.integer):
            number = int(np.searchsorted(self.firsts, rows, side="right")) - 1
            return self._map(number)[rows - self.firsts[number]]
        rows_B = np.asarray(rows)
        parts = [(places, self._map(n)[inside]) for n, places, inside in self._parts(rows_B)]
        if len(parts) == 1:
            return parts[0][1]
        chosen = np.empty((len(rows_B), parts[0][1].shape[1]), parts[0][1].dtype)
        for places, values in parts:
            chosen[places] = values
        return chosen

    def __setitem__(self, rows: np.ndarray, values: np.ndarray) -> None:
        """Write ``values`` [B, width] to ``rows`` [B]."""
        for number, places, inside in self._parts(rows):
            self._map(number)[inside] = values[places]


@dataclass(frozen=True)
class NewShards:
    """Shards in the making, to be filled: ``tokens`` [rows, length] and, of conversations,
    ``starts`` and ``answers`` [rows, ceil(length / 8)], a bit a token.
    """

    arrays: dict[str, ShardedRows]
    out: Path
    rows: int

    def described(self) -> dict[str, Any]:
        """Return the manifest's part on the finished shards: checksums of all, and the index.

        ``sha256`` is that of all tokens as one array file, whatever the number of shards.
        """
        firsts = self.arrays["tokens"].firsts.tolist()
        index = [
            {"first_row": first, "rows": end - first}
            for first, end in zip(firsts, [*firsts[1:], self.rows], strict=True)
        ]
        whole = {}
        for stem in self.arrays:
            key = CHECKSUM_KEYS[stem]
            files = [self.out / shard_name(stem, number) for number in range(len(index))]
            for shard, file in zip(index, files, strict=True):
                shard |= {stem: file.name, key: io.sha256(file)}
            whole[key] = index[0][key] if len(files) == 1 else whole_sha256(files, self.rows)
        return {**whole, "shards": index}


def shard_name(stem: str, number: int) -> str:
    return f"{stem}-{number:05d}.npy"


def whole_sha256(files: Sequence[Path], rows: int) -> str:
    """Return the SHA-256 that one array file with the rows of all ``files`` would have."""
    first = np.load(files[0], mmap_mode="r")
    header = streams.BytesIO()
    shape, dtype = (rows, first.shape[1]), np.lib.format.dtype_to_descr(first.dtype)
    described: dict[str, Any] = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, described)
    digest = hashlib.sha256(header.getvalue())
    for file in files:
        digest.update(np.load(file, mmap_mode="r"))
    return digest.hexdigest()


def create_array(path: Path, dtype: Any, shape: tuple[int, int]) -> None:
    """Make a new array file with its room on disk already taken.

    Raises ``OSError`` where the disk is too small: a write to a map of a file with holes would end
    the process instead.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    try:
        np.lib.format.open_memmap(path, "w+", dtype, shape)
        if hasattr(os, "posix_fallocate"):
            with path.open("r+b") as handle:
                os.posix_fallocate(handle.fileno(), 0, os.fstat(handle.fileno()).st_size)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            text = f"no room for {size} bytes ({error.strerror})"
            raise OSError(error.errno, text, str(path)) from None


@contextmanager
def new_shards(
    out: Path,
    rows: int,
    length: int,
    dtype: Any,
    *,
    conversations: bool = False,
    shard_bytes: int = SHARD_BYTES,
) -> Iterator[NewShards]:
    """Yield shards to fill; they get their names only if the block succeeds.

    ``conversations`` have marks beside their tokens. ``out`` holds no other shards. A shard has at
    most ``shard_bytes`` of tokens, and at least one row. Raises :class:`RevocabError` for a size
    below 1, ``OSError`` for a disk without room.
    """
    if shard_bytes < 1:
        raise RevocabError(f"--shard-bytes: {shard_bytes}; give 1 or more")
    per_shard = max(1, shard_bytes // (length * np.dtype(dtype).itemsize))
    firsts = range(0, rows, per_shard)

    def create(stack: ExitStack, stem: str, dtype: Any, width: int) -> ShardedRows:
        files = []
        for number, first in enumerate(firsts):
            files.append(stack.enter_context(io.atomic(out / shard_name(stem, number))))
            create_array(files[-1], dtype, (min(per_shard, rows - first), width))
        return ShardedRows(files, firsts, "r+")

    with ExitStack() as stack:
        arrays = {"tokens": create(stack, "tokens", dtype, length)}
        for stem in MARKS if conversations else ():
            arrays[stem] = create(stack, stem, np.uint8, -(-length // 8))
        yield NewShards(arrays, out, rows)
        # So that an error of the disk is met here.
        for file in (file for sharded in arrays.values() for file in sharded.files):
            with file.open("r+b") as handle:
                os.fsync(handle.fileno())


def open_shards(folder: Path, manifest: Mapping[str, Any], rows: int) -> dict[str, ShardedRows]:
    """Return the first ``rows`` rows, verified, by what they hold: ``tokens``, and ``starts`` and
    ``answers`` where the manifest has their checksums.

    Raises :class:`RevocabError` naming every missing or damaged shard.
    """
    if "shards" not in manifest:
        raise RevocabError(f"{folder}: its manifest has no index of shards; pack again")
    index = [shard for shard in manifest["shards"] if shard["first_row"] < rows]
    stems = {stem: key for stem, key in CHECKSUM_KEYS.items() if key in manifest}
    problems = []
    for shard, (stem, key) in product(index, stems.items()):
        file, expected = folder / shard[stem], shard[key]
        actual = io.sha256(file) if file.is_file() else None
        if actual == expected:
            continue
        state = "missing"
        if actual is not None:
            state = f"SHA-256 {actual[:12]}…, manifest says {expected[:12]}…"
        last = shard["first_row"] + shard["rows"] - 1
        problems.append(
            f"{file}: {state}; this shard (rows {shard['first_row']} to {last}) is damaged: put a"
            f" good copy in its place, or delete {folder} and pack again"
        )
    refuse(problems)
    firsts = [shard["first_row"] for shard in index]
    return {stem: ShardedRows([folder / shard[stem] for shard in index], firsts) for stem in stems}
