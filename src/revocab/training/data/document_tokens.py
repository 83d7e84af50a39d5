"""Documents to token ids, by the tokenizer as evaluation will load it; counts of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError

#: What is handed to the tokenizer at once: enough to keep its threads busy. Little is tokenised
#: beyond the budget, and memory holds few documents where they are novels.
BATCH_DOCUMENTS = 512
BATCH_CHARACTERS = 1_000_000


@dataclass(frozen=True)
class TextTokenizer:
    """A fast tokenizer's backend with the ids that packing needs."""

    backend: Any
    vocabulary_size: int
    start_id: int | None
    end_id: int | None
    folder: Path

    def require(self, special_id: int | None, role: str, advice: str) -> int:
        """Return ``special_id``, or raise :class:`RevocabError` if the tokenizer has none."""
        if special_id is None:
            raise RevocabError(f"{self.folder}: tokenizer has no {role} token; {advice}")
        return special_id


@dataclass(frozen=True)
class Document:
    """One document's text and its token ids, without special tokens."""

    id: str
    text: str
    ids: list[int]


def load_tokenizer(folder: str | Path) -> TextTokenizer:
    """Load a Hugging Face tokenizer folder through ``AutoTokenizer``.

    Not straight from ``tokenizer.json``: a class may rebuild the backend, and training must see
    the ids that evaluation sees. Raises :class:`RevocabError` for a folder that is not a fast
    tokenizer.
    """
    from revocab.tokenizers.load import load_tokenizer as load

    folder = Path(folder)
    tokenizer = load(folder)
    return TextTokenizer(
        tokenizer.backend_tokenizer,
        len(tokenizer),
        tokenizer.bos_token_id,
        tokenizer.eos_token_id,
        folder,
    )


def batched(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield lists of up to :data:`BATCH_DOCUMENTS` rows.

    A list ends with the row that brings its texts to :data:`BATCH_CHARACTERS`.
    """
    batch, characters = [], 0
    for row in rows:
        batch.append(row)
        characters += len(row["text"]) if isinstance(row["text"], str) else 0
        if characters >= BATCH_CHARACTERS or len(batch) == BATCH_DOCUMENTS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def tokenise(tokenizer: TextTokenizer, rows: Iterable[dict[str, Any]]) -> Iterator[Document]:
    """Yield every ``{"id", "text"}`` row as a :class:`Document`, in order, tokenised in batches.

    Raises :class:`RevocabError` naming the document if its text is not valid Unicode.
    """
    for batch in batched(rows):
        texts = [row["text"] for row in batch]
        try:
            encodings = tokenizer.backend.encode_batch_fast(texts, add_special_tokens=False)
        except (TypeError, UnicodeEncodeError):
            raise RevocabError(_not_text(batch)) from None
        for row, encoding in zip(batch, encodings, strict=True):
            yield Document(str(row.get("id", "")), row["text"], encoding.ids)


def _not_text(batch: list[dict[str, Any]]) -> str:
    for row in batch:
        try:
            row["text"].encode("utf-8")
        except (AttributeError, UnicodeEncodeError):
            return (
                f"document {row.get('id')!r}: text is not valid Unicode"
                f" ({str(row['text'])[:40]!a}); prepare the corpus again"
            )
    return "a document could not be tokenised; prepare the corpus again"


def token_spans(tokenizer: TextTokenizer, text: str) -> list[tuple[int, int]]:
    """Return the characters of ``text`` that each of its tokens covers: first, and behind the last.

    Tokens that are bytes of one character all cover it.
    """
    return tokenizer.backend.encode(text, add_special_tokens=False).offsets


def count_bytes(text: str) -> int:
    return len(text.encode("utf-8"))
