"""Pack documents of several corpora into one array of token rows, in training order.

(Conversations: :mod:`revocab.training.data.conversations`.)

METHODS.md section 4: a token stream with bos per document (eos by option), wrapped across rows, the
last partial row dropped; corpora mixed by tokens. Rows and their order are decided here, once, so
that training reads them front to back with any number of processes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from revocab.closed import Id, Job
from revocab.errors import RevocabError, refuse
from revocab.limits import ROWS, Seed, Tokens, at_most
from revocab.training.data.document_tokens import RowSpace, TextTokenizer, count_bytes, tokenise
from revocab.training.data.mixture import layout, shuffled
from revocab.training.recipe import PackingOptions
from revocab.vocabulary.tokenizers.unseen import Unseen, size_of

if TYPE_CHECKING:
    import numpy as np

    from revocab.training.data.shards import ShardedRows

#: Counts that a manifest has only where there is something to count.
COUNTED_IF_ANY = ("skipped_heldout", "skipped_tokens", "special_texts")
#: Rows written to the array at once.
BLOCK_ROWS = 1024


@dataclass
class CorpusCount:
    """What was packed of one corpus. ``tokens`` includes specials; the rest counts text only.
    ``words`` are separated by whitespace, the same for every language.

    The document that the budget cuts counts as one, with the bytes and words of the part used.
    """

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
        self.bytes += sum(map(count_bytes, parts))
        self.words += sum(len(part.split()) for part in parts)

    @property
    def learned(self) -> tuple[int, int]:
        """Return the tokens that are predicted, and the bytes that they stand for."""
        return self.tokens, self.bytes - self.unseen.size

    def described(self) -> dict[str, Any]:
        counts = {key: count for key, count in vars(self).items() if key != "unseen"}
        counted = {key: n for key, n in counts.items() if key not in COUNTED_IF_ANY or n}
        return counted | self.unseen.described()


def _one_or_many(value: Any) -> Any:
    """Take one share as that of the only stage, as a command line gives it."""
    return value if isinstance(value, list) else [value]


Share = Annotated[float, Field(ge=0, le=1)] | Literal["size"]


class PackingJob(PackingOptions, Job):
    """What decides packed rows beside tokenizer and corpora."""

    rows: Annotated[Tokens, at_most(ROWS, "their order is laid out in memory")] = Field(
        description="steps times batch size of the training; by hand --steps and --batch-size, or"
        " --tokens, may say it"
    )
    seed: Seed = Field(description="seed of the order in which corpora alternate")
    #: Of every corpus, one for each stage; ``size``: what the others leave, by size.
    shares: dict[Id, Annotated[list[Share], BeforeValidator(_one_or_many)]] = Field(
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


@dataclass
class Packed:
    """Result of :func:`pack`: counts by stage and by corpus, and the largest id written."""

    #: Name and rows of each stage, and of each corpus in it ``{id: {"share": ..., "rows": ...}}``.
    stages: list[dict[str, Any]] = field(default_factory=list)
    corpora: dict[str, CorpusCount] = field(default_factory=dict)
    largest_id: int = 0


def token_stream(
    name: str,
    read: Callable[[], Iterable[dict[str, Any]]],
    tokenizer: TextTokenizer,
    options: PackingJob,
    count: CorpusCount,
) -> Iterator[list[int]]:
    """Yield the ids of one document after another until ``count.rows`` rows are full.

    ``read`` opens the corpus again on each call. ``count`` is filled on the way. The last document
    is cut at the budget, and others as :class:`RowSpace` says. Raises :class:`RevocabError` if the
    corpus ends first and may not repeat.
    """
    before, after = [], []
    if options.document_start:
        advice = "set document_start: false and document_end: true"
        before = [tokenizer.require(tokenizer.start_id, "bos", advice)]
    if options.document_end:
        after = [tokenizer.require(tokenizer.end_id, "eos", "set document_end: false")]
        if after == before:  # bos of the next document says it
            after = []
    budget = count.rows * options.sequence_length
    rows = RowSpace(options.sequence_length, budget, options.rows_begin_at)
    while count.tokens < budget:
        start = count.tokens
        count.passes += 1
        for document in tokenise(tokenizer, read()):
            if not document.ids:
                count.skipped_empty += 1
                count.bytes += size_of(document.unseen)  # all of it, if any
                count.unseen.add(document.unseen, document.place)
                continue
            parts = rows.parts(tokenizer, document, len(before), len(after), count.tokens)
            count.add(*(part.text for part in parts))
            for part in parts if document.special_texts or document.unseen else ():
                count.special_texts += tokenizer.special_texts.count(part.text)
                begin, end = max(part.begin - len(before), 0), part.end - len(before)
                seen = document.ids[begin:end]
                count.unseen.add(tokenizer.coverage.unseen(part.text, seen), document.place)
            ids = [*before, *document.ids, *after]
            for part in parts:
                count.tokens += part.end - part.begin
                yield ids[part.begin : part.end]
            full = count.tokens == budget
            reached = parts[-1].end if full else len(ids)
            count.skipped_tokens += reached - sum(part.end - part.begin for part in parts)
            if full:
                return
        if count.tokens == start:
            raise RevocabError(f"corpus {name}: no text in it; prepare it again")
        if not options.repeat_corpora:
            lost = ""
            if count.skipped_tokens:
                lost = f"; {count.skipped_tokens} tokens are in no row (rows_begin_at)"
            raise RevocabError(
                f"corpus {name}: ends after {count.tokens} tokens, {budget} needed "
                f"({count.rows} rows of {options.sequence_length}){lost}; set repeat_corpora: true"
                " (--repeat-corpora), give more text, or fewer steps"
            )


def blocks(stream: Iterator[list[int]], length: int) -> Iterator[np.ndarray]:
    """Wrap id lists into arrays of C's unsigned int of up to :data:`BLOCK_ROWS` rows of ``length``.

    ``array`` takes a list in a third of the time that numpy needs, and its buffer is a ninth of a
    list's.
    """
    import numpy as np

    size = BLOCK_ROWS * length
    buffer = array("I")
    for ids in stream:
        buffer.fromlist(ids)
        while len(buffer) >= size:
            yield np.frombuffer(buffer[:size], dtype=np.uintc).reshape(-1, length)
            del buffer[:size]
    usable = len(buffer) // length * length
    if usable:
        yield np.frombuffer(buffer[:usable], dtype=np.uintc).reshape(-1, length)


def assigned_rows(
    shares: Mapping[str, Sequence[float]], options: PackingJob
) -> tuple[Packed, dict[str, np.ndarray]]:
    """Return the counts of nothing packed yet, and each corpus's places (int64) in the run.

    The places are in the order in which a corpus fills them. Raises :class:`RevocabError` as
    :func:`layout` does.
    """
    import numpy as np

    positions = layout(shares, options.parts, options.seed)
    packed = Packed()
    for number, (name, rows) in enumerate(options.parts):
        parts = {
            corpus: {"share": shares[corpus][number], "rows": len(places[number])}
            for corpus, places in positions.items()
            if len(places[number])
        }
        packed.stages.append({"name": name, "rows": rows, "corpora": parts})
    assigned = {}
    for number, (name, ordered) in enumerate(positions.items()):
        stages = shuffled(ordered, options.seed, number) if options.shuffle_rows else ordered
        places = assigned[name] = np.concatenate(stages)
        overall = shares[name][0] if len(options.parts) == 1 else len(places) / options.rows
        packed.corpora[name] = CorpusCount(share=overall, rows=len(places))
    return packed, assigned


def pack(
    target: np.ndarray | ShardedRows,
    corpora: Mapping[str, tuple[Sequence[float], Callable[[], Iterable[dict[str, Any]]]]],
    tokenizer: TextTokenizer,
    options: PackingJob,
) -> Packed:
    """Fill ``target`` [rows, sequence_length] from ``corpora``: ``{id: (share by stage, read)}``.

    Rows of one corpus stay in document order, also from one stage to the next; with
    ``shuffle_rows`` those of a stage are shuffled. Memory stays at one block whatever the size of
    the array, which may lie in memory maps. Errors: see :func:`layout` and :func:`token_stream`,
    those of all corpora at once.
    """
    packed, assigned = assigned_rows({name: share for name, (share, _) in corpora.items()}, options)
    problems: dict[str, None] = {}
    for name, (_, read) in corpora.items():
        places, count = assigned[name], packed.corpora[name]
        done = 0
        stream = token_stream(name, read, tokenizer, options, count)
        try:
            for block in blocks(stream, options.sequence_length):
                target[places[done : done + len(block)]] = block
                done += len(block)
                packed.largest_id = max(packed.largest_id, int(block.max()))
        except RevocabError as error:
            problems.update(dict.fromkeys(error.problems))
    refuse(problems)
    return packed
