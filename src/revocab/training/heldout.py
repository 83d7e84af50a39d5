"""Held-out text as padded windows in which each text token is predicted exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from revocab.closed import Job
from revocab.errors import RevocabError
from revocab.output import OutputFolder
from revocab.training.document_tokens import Document, TextTokenizer, count_bytes, tokenise

if TYPE_CHECKING:
    import numpy as np


class HeldoutJob(Job):
    """What decides the windows beside their text."""

    sequence_length: int = Field(ge=2, description="tokens per window")


@dataclass
class Windows:
    """Windows of one corpus: ``input_ids`` int32 [windows, L] (padded with 0), ``lengths`` int32.

    Each window is bos plus up to L-1 text tokens of one document; ``tokens`` counts text tokens,
    which are the predicted ones, and ``bytes`` their text in UTF-8.
    """

    input_ids: np.ndarray
    lengths: np.ndarray
    documents: int
    bytes: int
    tokens: int


def windows_of(documents: Iterable[Document], start_id: int, length: int) -> Windows:
    """Cut documents into :class:`Windows`; a long one continues in the next, after a new bos."""
    import numpy as np

    rows: list[list[int]] = []
    total_documents = total_bytes = 0
    for document in documents:
        if not document.ids:
            continue
        total_documents += 1
        total_bytes += count_bytes(document.text)
        rows += [
            [start_id, *document.ids[begin : begin + length - 1]]
            for begin in range(0, len(document.ids), length - 1)
        ]
    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    input_ids = np.zeros((len(rows), length), dtype=np.int32)
    for index, row in enumerate(rows):
        input_ids[index, : len(row)] = row
    return Windows(input_ids, lengths, total_documents, total_bytes, int(lengths.sum()) - len(rows))


def start_id_of(tokenizer: TextTokenizer) -> int:
    """Return the id that begins a window: bos, or eos for a tokenizer without bos."""
    start = tokenizer.start_id if tokenizer.start_id is not None else tokenizer.end_id
    return tokenizer.require(start, "bos or eos", "held-out windows need one to begin with")


def pack_heldout_folder(
    tokenizer_folder: str | Path,
    corpora: Mapping[str, Path],
    sequence_length: int,
    out: str | Path,
) -> dict[str, Any]:
    """Write ``out/<corpus>.safetensors`` from each ``heldout.jsonl.gz``; return the manifest.

    Raises :class:`RevocabError` for a corpus without held-out text.
    """
    from safetensors.numpy import save_file

    from revocab import io
    from revocab.training.document_tokens import load_tokenizer

    if sequence_length < 2:
        raise RevocabError(f"--sequence-length: {sequence_length}; give 2 or more")
    output = OutputFolder(Path(out), "held-out tokens", [Path(tokenizer_folder), *corpora.values()])
    tokenizer = load_tokenizer(tokenizer_folder)
    with output.replaced() as packed:
        described: dict[str, Any] = {}
        for name, folder in corpora.items():
            file = folder / "heldout.jsonl.gz"
            documents = tokenise(tokenizer, io.read_jsonl(file))
            windows = windows_of(documents, start_id_of(tokenizer), sequence_length)
            if not windows.documents:
                raise RevocabError(f"{file}: no held-out text; set heldout_bytes of corpus {name}")
            arrays = {"input_ids": windows.input_ids, "lengths": windows.lengths}
            save_file(arrays, packed / f"{name}.safetensors")
            described[name] = {
                "language": io.read_json(folder / "manifest.json")["language"],
                "documents": windows.documents,
                "bytes": windows.bytes,
                "tokens": windows.tokens,
                "windows": len(windows.lengths),
                "sha256": io.sha256(packed / f"{name}.safetensors"),
                "source_sha256": io.sha256(file),
            }
        manifest = {
            "corpora": described,
            "sequence_length": sequence_length,
            "vocabulary_size": tokenizer.vocabulary_size,
            "tokenizer.json": io.sha256(Path(tokenizer_folder) / "tokenizer.json"),
        }
        io.write_json(packed / "manifest.json", manifest)
    return manifest
