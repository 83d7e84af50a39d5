"""Read a prepared corpus: ``train.jsonl.gz``, ``heldout.jsonl.gz`` and ``manifest.json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from revocab.errors import RevocabError
from revocab.io import read_jsonl
from revocab.marker import CORPUS, read_manifest

Split = Literal["train", "heldout"]


def corpus_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of a prepared corpus; raise :class:`RevocabError` for another folder."""
    return read_manifest(folder, CORPUS, ("language",), "revocab prepare")


def check_content(folders: Mapping[str, str | Path], *, conversations: bool) -> None:
    """Raise :class:`RevocabError` for every corpus that does not hold what is asked for:
    conversations, or text.
    """
    wrong = [
        name for name, folder in folders.items() if holds_conversations(folder) != conversations
    ]
    if wrong and conversations:
        raise RevocabError(
            f"corpus {name}: holds text, and loss: answers needs conversations; prepare it with "
            "messages_field (--messages-field), copying or translation, or set loss: all"
            for name in wrong
        )
    if wrong:
        raise RevocabError(
            f"corpus {name}: holds conversations, whose answers are trained on; set loss:"
            " answers (--loss answers), or prepare it without messages_field, copying and"
            " translation"
            for name in wrong
        )


def holds_conversations(folder: str | Path) -> bool:
    manifest = corpus_manifest(folder)
    kinds = ("messages_field", "copying", "translation")
    return any(manifest.get(key) is not None for key in kinds)


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
        try:
            used += len(document["text"].encode())
        except UnicodeEncodeError as error:
            raise RevocabError(
                f"{folder}, {split} document {number + 1}: a lone surrogate at character"
                f" {error.start} is not text; repair the source and prepare the corpus again"
            ) from None
        if limit_bytes is not None and used > limit_bytes and number:
            return
        yield document["text"]
