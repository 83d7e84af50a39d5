"""Pack documents of several corpora into one array of token rows, in training order.

METHODS.md section 4: a token stream with bos per document (eos by option), wrapped across rows, the
last partial row dropped; corpora mixed by tokens. Rows and their order are decided here, once, so
that training reads them front to back with any number of processes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.training.mixture import interleave, rows_by_share, shares_by_size
from revocab.training.tokens import (
    Document,
    TextTokenizer,
    count_bytes,
    count_words,
    text_before_token,
    tokenise,
)

if TYPE_CHECKING:
    import numpy as np

#: A file system that cannot take room ahead: writing finds out instead.
UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})
HELDOUT_KEY = "skipped_heldout"
#: Rows written to the array at once.
BLOCK_ROWS = 1024


@dataclass
class CorpusCount:
    """What was packed of one corpus. ``tokens`` includes specials; the rest counts text only.

    The document that the budget cuts counts as one, with the bytes and words of the part used.
    """

    share: float
    rows: int
    tokens: int = 0
    bytes: int = 0
    words: int = 0
    documents: int = 0
    passes: int = 0
    skipped_empty: int = 0
    #: Documents left out because a held-out set has them.
    skipped_heldout: int = 0

    def add(self, text: str) -> None:
        """Count the text of one document."""
        self.documents += 1
        self.bytes += count_bytes(text)
        self.words += count_words(text)

    def described(self) -> dict[str, Any]:
        """Return the counts as plain data; what did not happen is left out."""
        return {key: value for key, value in asdict(self).items() if key != HELDOUT_KEY or value}


@dataclass(frozen=True)
class PackingOptions:
    """How documents become one stream; see ``Recipe`` in the config."""

    sequence_length: int
    rows: int
    seed: int
    document_start: bool = True
    document_end: bool = False
    repeat_corpora: bool = False
    document_masking: bool = False
    size_exponent: float = 1.0


@dataclass
class Packed:
    """Result of :func:`pack`: counts by corpus, and the largest id written."""

    corpora: dict[str, CorpusCount] = field(default_factory=dict)
    largest_id: int = 0


def token_stream(
    name: str,
    read: Callable[[], Iterable[dict[str, Any]]],
    tokenizer: TextTokenizer,
    options: PackingOptions,
    count: CorpusCount,
    starts: list[int] | None = None,
) -> Iterator[list[int]]:
    """Yield the ids of one document after another until ``count.rows`` rows are full.

    ``read`` opens the corpus anew on each call. ``count`` is filled on the way, and ``starts`` with
    the place in the stream where each document begins. The last document
    is cut at the budget. Raises :class:`RevocabError` if the corpus ends first and may not repeat.
    """
    before, after = _specials(tokenizer, options)
    budget = count.rows * options.sequence_length
    while count.tokens < budget:
        start = count.tokens
        count.passes += 1
        for document in tokenise(tokenizer, read()):
            if not document.ids:
                count.skipped_empty += 1
                continue
            ids = [*before, *document.ids, *after]
            room = budget - count.tokens
            count.add(_text_within(tokenizer, document, room - len(before)))
            if starts is not None:
                starts.append(count.tokens)
            count.tokens += min(room, len(ids))
            yield ids[:room]
            if len(ids) >= room:
                return
        if count.tokens == start:
            raise RevocabError(f"corpus {name}: no text in it; prepare it again")
        if not options.repeat_corpora:
            raise RevocabError(
                f"corpus {name}: ends after {count.tokens} tokens, {budget} needed "
                f"({count.rows} rows of {options.sequence_length}); set repeat_corpora: true "
                "(--repeat-corpora), give more text, or fewer steps"
            )


def _specials(tokenizer: TextTokenizer, options: PackingOptions) -> tuple[list[int], list[int]]:
    """Return the ids put before and after each document."""
    before, after = [], []
    if options.document_start:
        advice = "set document_start: false and document_end: true"
        before = [tokenizer.require(tokenizer.start_id, "bos", advice)]
    if options.document_end:
        after = [tokenizer.require(tokenizer.end_id, "eos", "set document_end: false")]
    return before, after


def _text_within(tokenizer: TextTokenizer, document: Document, room: int) -> str:
    """Return the text that fits into ``room`` tokens: nearly always the whole document."""
    if len(document.ids) <= room:
        return document.text
    return text_before_token(tokenizer, document.text, max(room, 0))


def blocks(stream: Iterator[list[int]], length: int) -> Iterator[np.ndarray]:
    """Wrap id lists into int64 arrays of up to :data:`BLOCK_ROWS` rows of ``length``."""
    import numpy as np

    size = BLOCK_ROWS * length
    buffer: list[int] = []
    for ids in stream:
        buffer += ids
        while len(buffer) >= size:
            yield np.array(buffer[:size], dtype=np.int64).reshape(-1, length)
            del buffer[:size]
    usable = len(buffer) // length * length
    if usable:
        yield np.array(buffer[:usable], dtype=np.int64).reshape(-1, length)


def mark_starts(
    bits: np.ndarray, rows: np.ndarray, begin: int, length: int, starts: list[int]
) -> None:
    """Set in ``bits`` [rows, ceil(length / 8)] where documents begin; forget those starts.

    ``rows`` are the places of the stream's tokens from ``begin`` on, ``length`` to a row.
    """
    import numpy as np

    marks = np.zeros((len(rows), length), dtype=bool)
    end = begin + marks.size
    inside = [start - begin for start in starts if start < end]
    marks.reshape(-1)[inside] = True
    del starts[: len(inside)]
    bits[rows] = np.packbits(marks, axis=1)


def pack(
    array: np.ndarray,
    corpora: Mapping[str, tuple[float, Callable[[], Iterable[dict[str, Any]]]]],
    tokenizer: TextTokenizer,
    options: PackingOptions,
    bits: np.ndarray | None = None,
) -> Packed:
    """Fill ``array`` [rows, sequence_length] from ``corpora``: ``{id: (share, read)}``.

    ``bits`` [rows, ceil(sequence_length / 8)], if given, gets a 1 where a document begins.

    Rows of one corpus stay in document order. Memory stays at one block whatever the size of the
    array, which may be a memory map. Errors: see :func:`rows_by_share` and :func:`token_stream`.
    """
    shares = {name: share for name, (share, _) in corpora.items()}
    counts = rows_by_share(shares, options.rows)
    positions = interleave(counts, options.seed)
    packed = Packed()
    for name, (share, read) in corpora.items():
        count = packed.corpora[name] = CorpusCount(share=share, rows=counts[name])
        done, length = 0, options.sequence_length
        starts = [] if bits is not None else None
        stream = token_stream(name, read, tokenizer, options, count, starts)
        for block in blocks(stream, length):
            rows = positions[name][done : done + len(block)]
            array[rows] = block
            if bits is not None:
                mark_starts(bits, rows, done * length, length, starts)
            done += len(block)
            packed.largest_id = max(packed.largest_id, int(block.max()))
    return packed


def create_array(path: Path, dtype: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return a new array file as a memory map, its room on disk already taken.

    Raises ``OSError`` where the disk is too small: a write to a map of a file with holes would end
    the process instead.
    """
    import numpy as np

    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    try:
        array = np.lib.format.open_memmap(path, "w+", dtype, shape)
        if hasattr(os, "posix_fallocate"):
            with path.open("r+b") as handle:
                os.posix_fallocate(handle.fileno(), 0, os.fstat(handle.fileno()).st_size)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            text = f"no room for {size} bytes ({error.strerror})"
            raise OSError(error.errno, text, str(path)) from None
    return array


def pack_folder(
    tokenizer_folder: str | Path,
    corpora: Mapping[str, tuple[float | None, Path]],
    options: PackingOptions,
    out: str | Path,
    heldout: Iterable[Path] = (),
) -> dict[str, Any]:
    """Write ``out/tokens.npy`` from corpus folders, then the manifest, which is returned.

    ``corpora`` maps ids to (share, folder with ``train.jsonl.gz``); a share of ``None`` is drawn by
    size. The array is uint16 for up to 65,536 tokens of vocabulary, else uint32. With document
    masking ``out/starts.npy`` marks the first token of each document. Documents that a folder of
    ``heldout`` holds out are left out of every corpus. Raises :class:`RevocabError` as its parts
    do, and ``OSError`` for a disk without room, in both cases leaving nothing.
    """
    import numpy as np

    from revocab import io
    from revocab.training.exclusion import heldout_keys, without_heldout
    from revocab.training.tokens import load_tokenizer

    given = {name: share for name, (share, _) in corpora.items()}
    sized = [name for name, share in given.items() if share is None]
    sizes = {
        name: io.read_json(corpora[name][1] / "manifest.json")["train"]["bytes"] for name in sized
    }
    shares = shares_by_size(given, sizes, options.size_exponent)
    rows_by_share(shares, options.rows)
    tokenizer = load_tokenizer(tokenizer_folder)
    out = Path(out)
    (out / "manifest.json").unlink(missing_ok=True)
    dtype = np.uint16 if tokenizer.vocabulary_size <= 65536 else np.uint32
    files = {name: folder / "train.jsonl.gz" for name, (_, folder) in corpora.items()}
    keys = heldout_keys(heldout)
    skipped = dict.fromkeys(files, 0)

    def reader(name: str) -> Callable[[], Iterable[dict[str, Any]]]:
        def skip() -> None:
            skipped[name] += 1

        return lambda: without_heldout(io.read_jsonl(files[name]), keys, skip)

    length = options.sequence_length
    masks = options.document_masking
    with ExitStack() as files_to_write:
        temporary = files_to_write.enter_context(io.atomic(out / "tokens.npy"))
        array, bits = create_array(temporary, dtype, (options.rows, length)), None
        if masks:
            marks = files_to_write.enter_context(io.atomic(out / "starts.npy"))
            bits = create_array(marks, np.uint8, (options.rows, -(-length // 8)))
        readers = {name: (shares[name], reader(name)) for name in corpora}
        packed = pack(array, readers, tokenizer, options, bits)
        for one in (array, bits) if masks else (array,):
            one.flush()
        del array, bits, one
    for name, count in packed.corpora.items():
        count.skipped_heldout = skipped[name]
    tokens = options.rows * length
    manifest = {
        "rows": options.rows,
        "sequence_length": length,
        "tokens": tokens,
        "tokens_per_byte": tokens / max(1, sum(count.bytes for count in packed.corpora.values())),
        "seed": options.seed,
        "document_start": options.document_start,
        "document_end": options.document_end,
        **({"document_masking": True} if masks else {}),
        "repeat_corpora": options.repeat_corpora,
        **({"size_exponent": options.size_exponent, "sizes": sizes} if sized else {}),
        "dtype": np.dtype(dtype).name,
        "vocabulary_size": tokenizer.vocabulary_size,
        "largest_id": packed.largest_id,
        "words": "whitespace-separated",
        "corpora": {name: count.described() for name, count in packed.corpora.items()},
        "sha256": io.sha256(out / "tokens.npy"),
        **({"starts_sha256": io.sha256(out / "starts.npy")} if masks else {}),
        "inputs": {
            "tokenizer.json": io.sha256(Path(tokenizer_folder) / "tokenizer.json"),
            "corpora": {name: io.sha256(path) for name, path in files.items()},
        },
    }
    io.write_json(out / "manifest.json", manifest)
    return manifest
