"""Pack documents of several corpora into one array of token rows, in training order.

METHODS.md section 4: a token stream with bos per document (eos by option), wrapped across rows, the
last partial row dropped; corpora mixed by tokens. Rows and their order are decided here, once, so
that training reads them front to back with any number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
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

    def add(self, text: str) -> None:
        """Count the text of one document."""
        self.documents += 1
        self.bytes += count_bytes(text)
        self.words += count_words(text)


@dataclass(frozen=True)
class PackingOptions:
    """How documents become one stream; see ``Recipe`` in the config."""

    sequence_length: int
    rows: int
    seed: int
    document_start: bool = True
    document_end: bool = False
    repeat_corpora: bool = False


@dataclass
class Packed:
    """Result of :func:`pack`: counts by corpus, and the largest id written."""

    corpora: dict[str, CorpusCount] = field(default_factory=dict)
    largest_id: int = 0


def rows_by_share(shares: Mapping[str, float], rows: int) -> dict[str, int]:
    """Split ``rows`` by ``shares`` (sum 1) by largest remainder, ties in the order given.

    Rows have equal length, so this is the split by tokens, exact to one row. Raises
    :class:`RevocabError` when shares do not sum to 1 or a corpus would get no row.
    """
    total = sum(shares.values())
    if abs(total - 1.0) > 1e-6 or min(shares.values()) <= 0:
        given = ", ".join(f"{name}={share}" for name, share in shares.items())
        raise RevocabError(f"shares: {given} sum to {total:g}; give positive shares that sum to 1")
    exact = {name: share * rows for name, share in shares.items()}
    counts = {name: int(value + 1e-9) for name, value in exact.items()}
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: rows - sum(counts.values())]:
        counts[name] += 1
    for name, count in counts.items():
        if count == 0:
            raise RevocabError(
                f"share of {name}: {shares[name]} of {rows} rows is less than one row; "
                "raise the share, or the steps or batch size of the recipe"
            )
    return counts


def interleave(counts: Mapping[str, int], seed: int) -> dict[str, np.ndarray]:
    """Return for each corpus the sorted positions (int64) of its rows in training order.

    Stratified: row ``i`` of ``n`` falls at a seeded random place in ``[i/n, (i+1)/n)`` of the run,
    so at every point each corpus is within as many rows of its share as there are corpora (a blind
    shuffle strays by about sqrt(rows)), without a rhythm that could beat against the batch size.
    """
    import numpy as np

    places, owners = [], []
    for number, count in enumerate(counts.values()):
        random = np.random.default_rng([seed, number])
        places.append((np.arange(count) + random.random(count)) / count)
        owners.append(np.full(count, number))
    order = np.argsort(np.concatenate(places), kind="stable")
    owner_of_row = np.concatenate(owners)[order]
    return {name: np.flatnonzero(owner_of_row == number) for number, name in enumerate(counts)}


def token_stream(
    name: str,
    read: Callable[[], Iterable[dict[str, Any]]],
    tokenizer: TextTokenizer,
    options: PackingOptions,
    count: CorpusCount,
) -> Iterator[list[int]]:
    """Yield the ids of one document after another until ``count.rows`` rows are full.

    ``read`` opens the corpus anew on each call. ``count`` is filled on the way. The last document
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


def pack(
    array: np.ndarray,
    corpora: Mapping[str, tuple[float, Callable[[], Iterable[dict[str, Any]]]]],
    tokenizer: TextTokenizer,
    options: PackingOptions,
) -> Packed:
    """Fill ``array`` [rows, sequence_length] from ``corpora``: ``{id: (share, read)}``.

    Rows of one corpus stay in document order. Memory stays at one block whatever the size of the
    array, which may be a memory map. Errors: see :func:`rows_by_share` and :func:`token_stream`.
    """
    shares = {name: share for name, (share, _) in corpora.items()}
    counts = rows_by_share(shares, options.rows)
    positions = interleave(counts, options.seed)
    packed = Packed()
    for name, (share, read) in corpora.items():
        count = packed.corpora[name] = CorpusCount(share=share, rows=counts[name])
        done = 0
        for block in blocks(
            token_stream(name, read, tokenizer, options, count), options.sequence_length
        ):
            array[positions[name][done : done + len(block)]] = block
            done += len(block)
            packed.largest_id = max(packed.largest_id, int(block.max()))
    return packed


def pack_folder(
    tokenizer_folder: str | Path,
    corpora: Mapping[str, tuple[float, Path]],
    options: PackingOptions,
    out: str | Path,
) -> dict[str, Any]:
    """Write ``out/tokens.npy`` from corpus folders, then the manifest, which is returned.

    ``corpora`` maps ids to (share, folder with ``train.jsonl.gz``). The array is uint16 for up to
    65,536 tokens of vocabulary, else uint32.
    """
    from dataclasses import asdict

    import numpy as np

    from revocab import io
    from revocab.training.tokens import load_tokenizer

    rows_by_share({name: share for name, (share, _) in corpora.items()}, options.rows)
    tokenizer = load_tokenizer(tokenizer_folder)
    out = Path(out)
    (out / "manifest.json").unlink(missing_ok=True)
    dtype = np.uint16 if tokenizer.vocabulary_size <= 65536 else np.uint32
    files = {name: folder / "train.jsonl.gz" for name, (_, folder) in corpora.items()}
    with io.atomic(out / "tokens.npy") as temporary:
        array = np.lib.format.open_memmap(
            temporary, "w+", dtype, (options.rows, options.sequence_length)
        )
        readers = {
            name: (share, lambda path=files[name]: io.read_jsonl(path))
            for name, (share, _) in corpora.items()
        }
        packed = pack(array, readers, tokenizer, options)
        array.flush()
        del array
    tokens = options.rows * options.sequence_length
    manifest = {
        "rows": options.rows,
        "sequence_length": options.sequence_length,
        "tokens": tokens,
        "tokens_per_byte": tokens / max(1, sum(count.bytes for count in packed.corpora.values())),
        "seed": options.seed,
        "document_start": options.document_start,
        "document_end": options.document_end,
        "repeat_corpora": options.repeat_corpora,
        "dtype": np.dtype(dtype).name,
        "vocabulary_size": tokenizer.vocabulary_size,
        "largest_id": packed.largest_id,
        "words": "whitespace-separated",
        "corpora": {name: asdict(count) for name, count in packed.corpora.items()},
        "sha256": io.sha256(out / "tokens.npy"),
        "inputs": {
            "tokenizer.json": io.sha256(Path(tokenizer_folder) / "tokenizer.json"),
            "corpora": {name: io.sha256(path) for name, path in files.items()},
        },
    }
    io.write_json(out / "manifest.json", manifest)
    return manifest
