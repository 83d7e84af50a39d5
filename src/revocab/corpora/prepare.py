"""Turn documents from a file or the Hub into a corpus: deduplicated, split by hash, counted.

Conversations are documents that keep their messages beside their text. What is made of one pair is
held out as a whole.

Memory holds one hash and one size per document, never the text, so a corpus of any size works.
Documents that nearly repeat an earlier one are found by MinHash signatures with locality-sensitive
hashing (Broder 1997, "On the resemblance and containment of documents"); the signatures are
datasketch's. With their index they take about 5 KB of memory each.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from revocab.corpora.documents import CorpusJob, NearDuplicates, RowFilter, documents_of
from revocab.corpora.formats import check_length, checksum, data_files, reading_of, utf8
from revocab.corpora.source import check_number, names_of, origin, read_rows
from revocab.errors import RevocabError
from revocab.io import sha256, write_json, write_jsonl
from revocab.marker import CORPUS
from revocab.output import OutputFolder
from revocab.training.chat.messages import is_answered


def ngrams(text: str, words: int) -> set[str]:
    """Return the word n-grams of a text without regard to case; a short text is one n-gram."""
    split = text.lower().split()
    last = max(1, len(split) - words + 1)
    return {" ".join(split[start : start + words]) for start in range(last)}


class Signatures:
    """Signatures of the documents kept so far, found by bands of their values that are equal."""

    def __init__(self, options: NearDuplicates):
        self.options = options
        self.signatures: list[Any] = []
        self.having: dict[int, list[int]] = defaultdict(list)
        # With more bands than near signatures have values that differ, one band is the same in
        # both, so that none is missed. Bands of single values would propose too many documents.
        values = options.permutations
        differing = int(values * (1 - options.threshold) + 1e-9)
        self.rows = max(2, values // (differing + 1))
        self.starts = range(0, min(differing + 1, values // self.rows) * self.rows, self.rows)

    def add(self, text: str) -> bool:
        """Keep a document's signature, unless one that is kept is near it; return whether kept.

        Equal bands propose documents, and whole signatures decide.
        """
        from datasketch import MinHash

        signature = MinHash(num_perm=self.options.permutations, seed=1)
        signature.update_batch(
            [ngram.encode() for ngram in sorted(ngrams(text, self.options.words))]
        )
        values = signature.hashvalues.astype("uint32")
        bands = [
            hash((start, values[start : start + self.rows].tobytes())) for start in self.starts
        ]
        near = {number for band in bands for number in self.having.get(band, ())}
        if any(
            (values == self.signatures[number]).mean() >= self.options.threshold for number in near
        ):
            return False
        for band in bands:
            self.having[band].append(len(self.signatures))
        self.signatures.append(values)
        return True


@dataclass
class _Spooled:
    """The documents that stay, in source order: what each is held out by, and size in bytes."""

    skipped: dict[str, int]
    #: First halves of SHA-256; equal ones are held out together.
    hashes: list[bytes] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


def _spool(rows: Iterable[Any], spool: IO[bytes], label: str, options: CorpusJob) -> _Spooled:
    signatures = Signatures(options.near_duplicates) if options.near_duplicates else None
    skipped = {"empty": 0, "duplicate": 0}
    skipped |= {"near_duplicate": 0} if signatures else {}
    skipped |= {"unanswered": 0} if options.messages_field is not None else {}
    spooled, seen, total, wanted = _Spooled(skipped), set(), 0, RowFilter(options.keep)
    for where, identifier, document, held_with in documents_of(rows, label, options, wanted):
        if not document["text"].strip():
            skipped["empty"] += 1
            continue
        messages = document.get("messages")
        if messages is not None and not is_answered(messages):
            skipped["unanswered"] += 1
            continue
        check_length(len(document["text"]), where)
        size = len(utf8(document["text"], where))
        content = document["text"] if messages is None else json.dumps(messages, ensure_ascii=False)
        digest = _digest(content)
        if digest in seen:
            skipped["duplicate"] += 1
            continue
        if signatures and not signatures.add(document["text"]):
            skipped["near_duplicate"] += 1
            continue
        total += size
        if options.limit_bytes is not None and total > options.limit_bytes and spooled.sizes:
            break
        seen.add(digest)
        spooled.hashes.append(digest if held_with is None else _digest(held_with))
        spooled.sizes.append(size)
        spool.write(json.dumps({"id": identifier, **document}).encode() + b"\n")
        if len(spooled.sizes) == options.limit_documents:
            break
    if options.keep:
        skipped["not kept"] = wanted.skipped
    return spooled


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]


def heldout_documents(hashes: list[bytes], sizes: list[int], heldout_bytes: int) -> set[int]:
    """Return the indices of documents to set aside: smallest hashes until the bytes are reached.

    Documents with equal hashes stay together. Depends on the set of documents only, not on their
    order.
    """
    chosen: set[int] = set()
    total, last = 0, None
    for index in sorted(range(len(hashes)), key=hashes.__getitem__):
        if total >= heldout_bytes and hashes[index] != last:
            break
        chosen.add(index)
        total, last = total + sizes[index], hashes[index]
    return chosen


def _write_split(spool: IO[bytes], path: Path, indices: set[int], inside: bool) -> dict[str, int]:
    counts = {"documents": 0, "bytes": 0, "characters": 0, "words": 0}

    def chosen() -> Iterator[dict[str, Any]]:
        spool.seek(0)
        for index, line in enumerate(spool):
            if (index in indices) is inside:
                document = json.loads(line)
                text = document["text"]
                counts["documents"] += 1
                counts["bytes"] += len(text.encode())
                counts["characters"] += len(text)
                counts["words"] += len(text.split())
                yield document

    write_jsonl(path, chosen())
    return counts


def prepare_corpus(
    rows: Iterable[Any],
    source: dict[str, Any],
    options: CorpusJob,
    out: str | Path,
    read: Sequence[Path] = (),
) -> dict[str, Any]:
    """Write a corpus folder from ``rows`` and return its manifest.

    Empty (or blank) and exactly repeated documents are skipped and counted, and so are
    conversations that nobody answers. Words in the manifest are whitespace-separated. ``source``
    says where the rows come from and goes into the manifest; its ``label`` is used in messages;
    ``read`` are the files and folders that ``out`` must spare. Raises :class:`RevocabError` before
    anything is written.
    """
    output = OutputFolder(Path(out), CORPUS, read)
    label = source["label"]
    with tempfile.TemporaryFile() as spool:
        spooled = _spool(rows, spool, label, options)
        count = len(spooled.sizes)
        if not count:
            raise RevocabError(
                f"{label}: no documents (skipped: {skipped_counts(spooled.skipped)}); give a source"
                " with text"
            )
        heldout = heldout_documents(spooled.hashes, spooled.sizes, options.heldout_bytes)
        if len(heldout) == count == 1:
            raise RevocabError(
                f"{label}: is one document, and heldout_bytes leaves none to train on; of a"
                " text file each line may be one: text_documents: lines (--text-documents"
                " lines), or give JSONL"
            )
        if len(heldout) == count:
            raise RevocabError(
                f"{label}: heldout_bytes {options.heldout_bytes} takes all {count} documents"
                f" ({sum(spooled.sizes)} bytes), none is left to train on; lower it or give more"
                " text"
            )
        with output.replaced() as folder:
            train = _write_split(spool, folder / "train.jsonl.gz", heldout, inside=False)
            aside = _write_split(spool, folder / "heldout.jsonl.gz", heldout, inside=True)
            content = "text_field" if options.messages_field is None else "messages_field"
            if options.translation is not None:
                content = "translation"
            keys = {content, "limit_documents", "limit_bytes", "heldout_bytes"}
            keys |= {"escaped_line_ends", "scripts", "message_roles", "keep"}
            keys |= {key for key in ("copying", "near_duplicates") if getattr(options, key)}
            manifest = {
                "corpus": options.corpus,
                "language": options.language,
                "source": source,
                **options.model_dump(include=keys, exclude={"translation"}),
                **options.model_dump(include={content}, exclude_none=True),
                "words": "separated by whitespace",
                "train": train,
                "heldout": aside,
                "skipped": spooled.skipped,
                "sha256": {
                    name: sha256(folder / f"{name}.jsonl.gz") for name in ("train", "heldout")
                },
            }
            write_json(folder / "manifest.json", manifest)
    return manifest


def skipped_counts(skipped: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in skipped.items())


def prepare(files: Sequence[Path], job: CorpusJob, out: str | Path) -> dict[str, Any]:
    OutputFolder(Path(out), CORPUS, files)  # before a large file is read for its checksum
    form = job.source
    check_number(form, files)
    if form.hub is not None:
        source = {"label": form.hub.id, **origin(form)}
    elif form.kind in ("pattern", "lines"):
        source = {"label": ", ".join(names_of(files)), **origin(form, files)}
    else:
        (path,) = files
        data_files(path)  # its errors come before the checksum's
        source = {"label": path.name, "file": path.name, "sha256": checksum(path)}
    reading = reading_of(files if form.kind in ("path", "pattern") else [], job.text_documents)
    if reading is None:
        rows = read_rows(form, files, streaming=True)
    else:
        print(f"{source['label']}: text_documents: {reading} (--text-documents)", file=sys.stderr)
        source["read_as"] = reading
        rows = read_rows(form, files, documents=reading)
    return prepare_corpus(rows, source, job, out, files)
