"""Read a prepared corpus: ``train.jsonl.gz``, ``heldout.jsonl.gz`` and ``manifest.json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from revocab.corpora.formats import utf8
from revocab.errors import all_of, refuse
from revocab.io import read_jsonl
from revocab.marker import CORPUS, read_manifest

Split = Literal["train", "heldout"]
#: The options that make conversations of rows; without them rows are text.
CONVERSATION_KEYS = ("messages_field", "copying", "translation")


def corpus_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of a prepared corpus; raise :class:`RevocabError` for another folder."""
    return read_manifest(folder, CORPUS, ("language",), "revocab prepare")


def corpus_manifests(folders: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Return the manifests of corpora by id; raise the problems of all at once."""
    read = all_of(partial(corpus_manifest, folder) for folder in folders.values())
    return dict(zip(folders, read, strict=True))


def check_content(folders: Mapping[str, str | Path], *, conversations: bool) -> None:
    """Raise :class:`RevocabError` for every corpus that does not hold what is asked for:
    conversations, or text.
    """
    wrong = [
        name for name, folder in folders.items() if holds_conversations(folder) != conversations
    ]
    ways = "messages_field (--messages-field), copying or translation"
    advice = (
        f"holds text, and loss: answers needs conversations; prepare it with {ways}, or set loss:"
        " all"
        if conversations
        else "holds conversations, whose answers are trained on; set loss: answers (--loss"
        f" answers), or prepare it without {ways}"
    )
    refuse(f"corpus {name}: {advice}" for name in wrong)


def holds_conversations(folder: str | Path) -> bool:
    manifest = corpus_manifest(folder)
    return any(manifest.get(key) is not None for key in CONVERSATION_KEYS)


def documents(folder: str | Path, split: Split = "train") -> Iterator[dict[str, Any]]:
    """Yield ``{id, text}`` of one split, with ``messages`` where there are, in its own order."""
    corpus_manifest(folder)
    return read_jsonl(Path(folder) / f"{split}.jsonl.gz")


def texts(
    folder: str | Path,
    split: Split = "train",
    limit_documents: int | None = None,
    limit_bytes: int | None = None,
) -> Iterator[str]:
    """Yield the texts of one split in order, up to a number of documents or UTF-8 bytes.

    A document that would exceed ``limit_bytes`` is not yielded, and ends the reading; the first
    document always is. Raises :class:`RevocabError` for a document that cannot be UTF-8.
    """
    used = 0
    for number, document in enumerate(documents(folder, split)):
        if limit_documents is not None and number >= limit_documents:
            return
        used += len(utf8(document["text"], f"{folder}, {split} document {number + 1}"))
        if limit_bytes is not None and used > limit_bytes and number:
            return
        yield document["text"]
