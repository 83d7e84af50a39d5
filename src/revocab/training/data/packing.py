"""Documents of a corpus to token ids, and their ids to rows.

METHODS.md section 4: a token stream with bos per document (eos by option), wrapped across rows, the
last partial row dropped. A row may begin anywhere, or only at certain places. Tikhomirov and
Chernyshev 2024 (LEP): each sample begins with a document or a paragraph. As in their release, a row
is filled to its end, the rest of the document or paragraph that it cuts is in no row, and a row
that begins within a document has no bos.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, model_validator

from revocab.closed import Id, Job
from revocab.corpora.formats import utf8
from revocab.errors import RevocabError
from revocab.limits import POSITIONS, ROWS, Seed, Tokens, at_most
from revocab.training.recipe import ANYWHERE, ConversationOptions, PackingOptions
from revocab.vocabulary.tokenizers.encoding import (
    SPECIAL_TOKENS,
    TEXT,
    Coverage,
    SpecialTexts,
    SpecialTokens,
    Unseen,
    size_of,
    special_sentence,
    text_encoder,
)

if TYPE_CHECKING:
    import numpy as np

#: What is handed to the tokenizer at once: enough to keep its threads busy. Little is tokenised
#: beyond the budget, and memory holds few documents where they are novels.
BATCH_DOCUMENTS = 512
BATCH_CHARACTERS = 1_000_000
#: Rows written to the array at once.
BLOCK_ROWS = 1024

#: Opens the rows of a corpus, ``{"id", "text"}`` or with ``messages``, again on each call.
Reader = Callable[[], Iterable[dict[str, Any]]]
Share = Annotated[float, Field(ge=0, le=1)] | Literal["size"]
#: One by stage; a command line may give a single one alone.
Shares = Annotated[
    list[Share], BeforeValidator(lambda value: value if isinstance(value, list) else [value])
]


class PackingJob(PackingOptions, Job):
    """What decides packed rows beside tokenizer and corpora."""

    rows: Annotated[Tokens, at_most(ROWS, "their order is laid out in memory")] = Field(
        description="steps times batch size of the training; by hand --steps and --batch-size, or"
        " --tokens, may say it"
    )
    seed: Seed = Field(description="seed of the order in which corpora alternate")
    #: Of every corpus, one for each stage; ``size``: what the others leave, by size.
    shares: dict[Id, Shares] = Field(
        default_factory=dict,
        description="share of rows, or 'size'; with stages one value for each; not needed for"
        " one corpus",
    )
    stages: dict[Id, Tokens] = Field(
        default_factory=dict, description="rows of each stage that has its own mixture, in order"
    )

    @model_validator(mode="after")
    def _sums(self) -> PackingJob:
        total = sum(self.stages.values())
        if self.stages and total != self.rows:
            raise ValueError(
                f"stages: {total} rows in all, but rows is {self.rows}; make them equal"
            )
        return self

    @property
    def parts(self) -> tuple[tuple[str, int], ...]:
        return tuple(self.stages.items()) or (("everything", self.rows),)


class HeldoutJob(ConversationOptions, Job):
    """What decides the windows of held-out text beside the text."""

    sequence_length: Annotated[int, Field(ge=2), POSITIONS] = Field(description="tokens per window")
    special_tokens: SpecialTokens = Field(
        default=TEXT, exclude_if=lambda value: value == TEXT, description=SPECIAL_TOKENS
    )


# Tokens -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextTokenizer:
    """A fast tokenizer with the ids that packing needs; ``encoder`` makes the ids of text."""

    backend: Any
    vocabulary_size: int
    start_id: int | None
    end_id: int | None
    folder: Path
    special_tokens: SpecialTokens = TEXT

    @classmethod
    def of(
        cls, tokenizer: Any, folder: str | Path, special_tokens: SpecialTokens, **more: Any
    ) -> Self:
        ids = tokenizer.bos_token_id, tokenizer.eos_token_id
        backend, size = tokenizer.backend_tokenizer, len(tokenizer)
        return cls(backend, size, *ids, Path(folder), special_tokens, **more)

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

    return TextTokenizer.of(load(folder), folder, special_tokens)


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
            for row in batch:  # one of them is no text
                utf8(row["text"], f"document {row.get('id')!r}")
            raise
        for row, text, encoding in zip(batch, texts, encodings, strict=True):
            special, unseen = tokenizer.special_texts, tokenizer.coverage
            counts = special.count(text), unseen.unseen(text, encoding.ids)
            yield Document(str(row.get("id", "")), text, encoding.ids, *counts)


# Rows ---------------------------------------------------------------------------------------------


@dataclass
class CorpusCount:
    """What was packed of one corpus. ``tokens`` includes specials; the rest counts text only.
    ``words`` are separated by whitespace, the same for every language.

    The document that the budget cuts counts as one, with the bytes and words of the part used.
    """

    #: What a manifest has only where there is something to count.
    counted_if_any: ClassVar[set[str]] = {"skipped_heldout", "skipped_tokens", "special_texts"}

    name: str
    #: Of all rows, or of the only mixture as it was asked for.
    share: float
    rows: Tokens
    tokens: int = 0
    bytes: int = 0
    words: int = 0
    documents: int = 0
    passes: int = 0
    skipped_empty: int = 0
    #: Documents left out because a held-out set has them.
    skipped_heldout: int = 0
    #: Tokens in no row, because the row that should have them would begin within a document, or a
    #: paragraph.
    skipped_tokens: int = 0
    #: Texts of special tokens in documents (``special_tokens``).
    special_texts: int = 0
    #: What no token stands for; of conversations, in their answers.
    unseen: Unseen = field(default_factory=Unseen)

    def add(self, *parts: str) -> None:
        self.documents += 1
        self.bytes += sum(len(part.encode()) for part in parts)
        self.words += sum(len(part.split()) for part in parts)

    @property
    def learned(self) -> tuple[int, int]:
        """Return the tokens that are predicted, and the bytes that they stand for."""
        return self.tokens, self.bytes - self.unseen.size

    def cautions(self, what: str, special_tokens: SpecialTokens) -> Iterator[str]:
        """Yield in words what of a text is other than one may think."""
        if self.special_texts:
            yield special_sentence(what, self.special_texts, special_tokens)
        if self.unseen.size:
            yield self.unseen.sentence(what, self.learned[1] + self.unseen.size)

    def described(self) -> dict[str, Any]:
        counts = {key: n for key, n in vars(self).items() if n or key not in self.counted_if_any}
        del counts["name"], counts["unseen"]
        return counts | self.unseen.described()


class Part(NamedTuple):
    """Consecutive tokens of a document, specials included, and the text they stand for."""

    begin: int
    end: int
    text: str


def row_parts(
    document: Document,
    tokenizer: TextTokenizer,
    options: PackingOptions,
    specials: tuple[int, int],
    used: int,
    budget: int,
) -> list[Part]:
    """Return what rows take of a document; every part after the first begins a row.

    ``specials`` stand before and behind the document, and of the ``budget`` of tokens ``used`` are
    taken.
    """
    before, after = specials
    length, begin_at = options.sequence_length, options.rows_begin_at
    count = before + len(document.ids) + after
    end = min(count, budget - used if begin_at == ANYWHERE else length - used % length)
    if end == count:
        return [Part(0, count, document.text)]
    # The characters that each token covers; tokens that are bytes of one character all cover it.
    spans = tokenizer.encoder.encode(document.text, add_special_tokens=False).offsets
    # A row that ends with bos is no reason to lose the document.
    starts = [0, *(paragraph_starts(document.text, spans) if begin_at == "paragraph" else [])]
    ranges = [(0, end)]
    used += end
    while used < budget and end < count:
        following = bisect_left(starts, end - before)
        if following == len(starts):
            break
        begin = before + starts[following]
        end = min(count, begin + length)
        ranges.append((begin, end))
        used += end - begin
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


def token_stream(
    read: Reader, tokenizer: TextTokenizer, options: PackingJob, count: CorpusCount
) -> Iterator[list[int]]:
    """Yield the ids of one document after another until ``count.rows`` rows are full.

    ``count`` is filled on the way. The last document is cut at the budget, and others as
    :func:`row_parts` says. Raises :class:`RevocabError` if the corpus ends first and may not
    repeat.
    """
    before, after = [], []
    if options.document_start:
        advice = "set document_start: false and document_end: true"
        before = [tokenizer.require(tokenizer.start_id, "bos", advice)]
    if options.document_end:
        after = [tokenizer.require(tokenizer.end_id, "eos", "set document_end: false")]
        if after == before:  # bos of the next document says it
            after = []
    specials = len(before), len(after)
    budget = count.rows * options.sequence_length
    while count.tokens < budget:
        start = count.tokens
        count.passes += 1
        for document in tokenise(tokenizer, read()):
            if not document.ids:
                count.skipped_empty += 1
                count.bytes += size_of(document.unseen)  # all of it, if any
                count.unseen.add(document.unseen, document.place)
                continue
            parts = row_parts(document, tokenizer, options, specials, count.tokens, budget)
            count.add(*(part.text for part in parts))
            ids = [*before, *document.ids, *after]
            for part in parts:
                if document.special_texts or document.unseen:
                    count.special_texts += tokenizer.special_texts.count(part.text)
                    # Slices clip what lies beyond the document's own tokens.
                    own = document.ids[max(part.begin - len(before), 0) : part.end - len(before)]
                    count.unseen.add(tokenizer.coverage.unseen(part.text, own), document.place)
                count.tokens += part.end - part.begin
                yield ids[part.begin : part.end]
            full = count.tokens == budget
            reached = parts[-1].end if full else len(ids)
            count.skipped_tokens += reached - sum(part.end - part.begin for part in parts)
            if full:
                return
        if count.tokens == start:
            raise RevocabError(f"corpus {count.name}: no text in it; prepare it again")
        if not options.repeat_corpora:
            skipped = count.skipped_tokens
            lost = f"; {skipped} tokens are in no row (rows_begin_at)" if skipped else ""
            raise RevocabError(
                f"corpus {count.name}: ends after {count.tokens} tokens, {budget} needed "
                f"({count.rows} rows of {options.sequence_length}){lost}; set repeat_corpora: true"
                " (--repeat-corpora), give more text, or fewer steps"
            )


def document_blocks(
    read: Reader, tokenizer: TextTokenizer, options: PackingJob, count: CorpusCount
) -> Iterator[dict[str, np.ndarray]]:
    """Yield ``{"tokens": [rows, length]}`` (C's unsigned int) of up to :data:`BLOCK_ROWS` rows.

    See :func:`token_stream`. ``array`` takes a list in a third of the time that numpy needs, and
    its buffer is a ninth of a list's.
    """
    import numpy as np

    length = options.sequence_length
    size = BLOCK_ROWS * length
    buffer = array("I")
    for ids in token_stream(read, tokenizer, options, count):
        buffer.fromlist(ids)
        while len(buffer) >= size:
            yield {"tokens": np.frombuffer(buffer[:size], dtype=np.uintc).reshape(-1, length)}
            del buffer[:size]
    if buffer:
        yield {"tokens": np.frombuffer(buffer, dtype=np.uintc).reshape(-1, length)}
