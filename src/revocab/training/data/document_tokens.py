"""Documents to token ids, by the tokenizer as evaluation will load it, and what rows take of them.

A row may begin anywhere, or only at certain places. Tikhomirov and Chernyshev 2024 (LEP): each
sample begins with a document or a paragraph. As in their release, a row is filled to its end, the
rest of the document or paragraph that it cuts is in no row, and a row that begins within a document
has no bos.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.training.recipe import ANYWHERE, RowsBeginAt
from revocab.vocabulary.tokenizers.encoding import TEXT, SpecialTexts, SpecialTokens, text_encoder
from revocab.vocabulary.tokenizers.unseen import Coverage

#: What is handed to the tokenizer at once: enough to keep its threads busy. Little is tokenised
#: beyond the budget, and memory holds few documents where they are novels.
BATCH_DOCUMENTS = 512
BATCH_CHARACTERS = 1_000_000


@dataclass(frozen=True)
class TextTokenizer:
    """A fast tokenizer with the ids that packing needs; ``encoder`` makes the ids of text."""

    backend: Any
    vocabulary_size: int
    start_id: int | None
    end_id: int | None
    folder: Path
    special_tokens: SpecialTokens = TEXT

    @cached_property
    def encoder(self) -> Any:
        return text_encoder(self.backend, self.special_tokens)

    @cached_property
    def special_texts(self) -> SpecialTexts:
        return SpecialTexts(self.backend)

    @cached_property
    def coverage(self) -> Coverage:
        return Coverage(self.encoder)

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
    #: Texts of special tokens in it, and what no token stands for.
    special_texts: int = 0
    unseen: Counter[bytes] = field(default_factory=Counter)

    @property
    def place(self) -> str:
        return f"document {self.id!r}"


def load_tokenizer(folder: str | Path, special_tokens: SpecialTokens = TEXT) -> TextTokenizer:
    """Load a Hugging Face tokenizer folder through ``AutoTokenizer``.

    Not straight from ``tokenizer.json``: a class may rebuild the backend, and training must see
    the ids that evaluation sees. Raises :class:`RevocabError` for a folder that is not a fast
    tokenizer.
    """
    from revocab.vocabulary.tokenizers.load import load_tokenizer as load

    folder = Path(folder)
    tokenizer = load(folder)
    backend, ids = tokenizer.backend_tokenizer, (tokenizer.bos_token_id, tokenizer.eos_token_id)
    return TextTokenizer(backend, len(tokenizer), *ids, folder, special_tokens)


def batched(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield lists of rows: up to :data:`BATCH_DOCUMENTS`, or :data:`BATCH_CHARACTERS` of text."""
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
            encodings = tokenizer.encoder.encode_batch_fast(texts, add_special_tokens=False)
        except (TypeError, UnicodeEncodeError):
            raise RevocabError(_not_text(batch)) from None
        for row, encoding in zip(batch, encodings, strict=True):
            text, ids = row["text"], encoding.ids
            found = tokenizer.special_texts.count(text), tokenizer.coverage.unseen(text, ids)
            yield Document(str(row.get("id", "")), text, ids, *found)


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
    return tokenizer.encoder.encode(text, add_special_tokens=False).offsets


def count_bytes(text: str) -> int:
    return len(text.encode("utf-8"))


@dataclass(frozen=True)
class Part:
    """Consecutive tokens of a document, specials included, and the text they stand for."""

    begin: int
    end: int
    text: str


@dataclass(frozen=True)
class RowSpace:
    """The rows of one corpus: ``tokens`` in all, ``length`` of them to a row."""

    length: int
    tokens: int
    begin_at: RowsBeginAt

    def room(self, used: int) -> int:
        """Return how many tokens a document may have that is not cut, after ``used`` tokens."""
        if self.begin_at == ANYWHERE:
            return self.tokens - used
        return self.length - used % self.length

    def ranges(self, count: int, used: int, starts: Sequence[int]) -> list[tuple[int, int]]:
        """Return the ranges of a document's ``count`` tokens that rows take, in order.

        Every one after the first begins a row, at one of ``starts`` (ascending).
        """
        end = min(count, self.room(used))
        ranges = [(0, end)]
        used += end
        while used < self.tokens:
            following = bisect_left(starts, end)
            if end == count or following == len(starts):
                break
            begin = starts[following]
            end = min(count, begin + self.length)
            ranges.append((begin, end))
            used += end - begin
        return ranges

    def parts(
        self, tokenizer: TextTokenizer, document: Document, before: int, after: int, used: int
    ) -> list[Part]:
        """Return what rows take of a document with ``before`` and ``after`` specials around it."""
        count = before + len(document.ids) + after
        if count <= self.room(used):
            return [Part(0, count, document.text)]
        spans = token_spans(tokenizer, document.text)
        starts = paragraph_starts(document.text, spans) if self.begin_at == "paragraph" else []
        # A row that ends with bos is no reason to lose the document.
        ranges = self.ranges(count, used, [before + place for place in (0, *starts)])
        return [
            Part(begin, end, text_of(document.text, spans, begin - before, end - before))
            for begin, end in ranges
        ]


def paragraph_starts(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return the tokens that begin a paragraph, which is what follows a line break; ascending.

    Such a token has the first character behind the break that is not whitespace, and nothing of
    what lies before the break. ``spans`` are the characters of ``text`` that each token covers.
    """
    starts, covered = [], 0
    for place, (begin, end) in enumerate(spans):
        covers = text[begin:end]
        first, last = end - len(covers.lstrip()), begin + len(covers.rstrip())
        if first >= last:
            continue
        if "\n" in text[covered:first]:
            starts.append(place)
        covered = max(covered, last)
    return starts


def text_of(text: str, spans: Sequence[tuple[int, int]], begin: int, end: int) -> str:
    """Return the part of ``text`` that tokens ``begin`` to ``end`` cover.

    Places below 0 and beyond the last token are those of specials. A part from the first token on
    begins with the text.
    """
    covered = spans[max(begin, 0) : max(end, 0)]
    if not covered:
        return ""
    return text[covered[0][0] if begin > 0 else 0 : max(end for _, end in covered)]
