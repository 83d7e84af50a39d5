"""Pack conversations into rows: whole ones, in order, as many as fit, and padding behind them.

Beside the tokens go two bits for each: where a conversation begins, which keeps attention inside
it, and what of it is learned. Padding is a conversation of its own of which nothing is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.training.data.conversations import ChatTokenizer, Conversation, encoded
from revocab.training.data.packing import (
    BLOCK_ROWS,
    CorpusCount,
    Packed,
    PackingJob,
    assigned_rows,
)

if TYPE_CHECKING:
    import numpy as np

    from revocab.training.data.shards import ShardedRows

#: The id behind the last conversation of a row.
PADDING = 0


@dataclass
class ConversationCount(CorpusCount):
    """What was packed of a corpus of conversations. ``tokens`` are those of whole conversations,
    ``bytes`` and ``words`` those of their messages; what is left out is counted in every pass.
    """

    answer_tokens: int = 0
    answer_bytes: int = 0
    padding: int = 0
    skipped_too_long: int = 0
    #: Conversations left out because a message holds the text of a special token.
    skipped_special: int = 0

    @property
    def learned(self) -> tuple[int, int]:
        return self.answer_tokens, self.answer_bytes

    def add_row(self, row: list[Conversation], length: int) -> None:
        for conversation in row:
            self.add(conversation.text)
            self.tokens += len(conversation.ids)
            self.answer_tokens += int(conversation.learned.sum())
            self.answer_bytes += conversation.answer_bytes
        self.padding += length - sum(len(conversation.ids) for conversation in row)

    def skip_special(self) -> None:
        self.skipped_special += 1

    def described(self) -> dict[str, Any]:
        counts = asdict(self)
        return {key: value for key, value in counts.items() if value or "skipped" not in key}


def fitting(
    name: str,
    rows: Iterable[dict[str, Any]],
    tokenizer: ChatTokenizer,
    length: int,
    drop_too_long: bool,
    count: ConversationCount,
) -> Iterator[Conversation]:
    """Yield the conversations of at most ``length`` tokens, in order; ``count`` the others.

    Raises :class:`RevocabError` for one that is too long and may not be left out.
    """
    for conversation in encoded(tokenizer, rows, count.skip_special):
        if len(conversation.ids) <= length:
            yield conversation
        elif drop_too_long:
            count.skipped_too_long += 1
        else:
            raise RevocabError(
                f"corpus {name}, conversation {conversation.id!r}: {len(conversation.ids)} tokens,"
                f" but a row has {length}; raise sequence_length, or leave out what is too long"
                " with drop_too_long: true (--drop-too-long)"
            )


def passes(
    name: str,
    read: Callable[[], Iterable[dict[str, Any]]],
    tokenizer: ChatTokenizer,
    options: PackingJob,
    count: ConversationCount,
) -> Iterator[Conversation]:
    """Yield the conversations that fit into a row, pass after pass where they may repeat.

    ``read`` opens the corpus again on each call. Raises :class:`RevocabError` as :func:`fitting`
    does, and for a corpus without any that fits.
    """
    while options.repeat_corpora or not count.passes:
        count.passes += 1
        none = True
        for conversation in fitting(
            name, read(), tokenizer, options.sequence_length, options.drop_too_long, count
        ):
            none = False
            yield conversation
        if none:
            raise RevocabError(
                f"corpus {name}: no conversation of at most {options.sequence_length} tokens in"
                " it; raise sequence_length, or prepare it again"
            )


def filled_rows(
    name: str,
    read: Callable[[], Iterable[dict[str, Any]]],
    tokenizer: ChatTokenizer,
    options: PackingJob,
    count: ConversationCount,
) -> Iterator[list[Conversation]]:
    """Yield the conversations of one row after another, in order, until there are ``count.rows``.

    ``count`` is filled on the way. Raises :class:`RevocabError` as :func:`passes` does, and if the
    corpus ends first.
    """
    row: list[Conversation] = []
    rows = used = 0
    for conversation in passes(name, read, tokenizer, options, count):
        if row and (options.one_per_row or used + len(conversation.ids) > options.sequence_length):
            count.add_row(row, options.sequence_length)
            yield row
            rows, used, row = rows + 1, 0, []
            if rows == count.rows:
                return
        row.append(conversation)
        used += len(conversation.ids)
    count.add_row(row, options.sequence_length)
    yield row
    if rows + 1 < count.rows:
        raise RevocabError(
            f"corpus {name}: its conversations fill {rows + 1} rows of {options.sequence_length} "
            f"tokens, {count.rows} needed; set repeat_corpora: true (--repeat-corpora), give more "
            "conversations, or fewer steps"
        )


def arrays_of(
    rows: Sequence[list[Conversation]], length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return tokens (C's unsigned int), starts and learned tokens (booleans), each [rows, length].

    Padding begins where a conversation would.
    """
    import numpy as np

    tokens_RL = np.full((len(rows), length), PADDING, dtype=np.uintc)
    starts_RL, learned_RL = (np.zeros((len(rows), length), dtype=bool) for _ in range(2))
    for number, row in enumerate(rows):
        place = 0
        for conversation in row:
            end = place + len(conversation.ids)
            tokens_RL[number, place:end] = conversation.ids
            learned_RL[number, place:end] = conversation.learned
            starts_RL[number, place] = True
            place = end
        if place < length:
            starts_RL[number, place] = True
    return tokens_RL, starts_RL, learned_RL


def pack_conversations(
    target: Mapping[str, np.ndarray | ShardedRows],
    corpora: Mapping[str, tuple[Sequence[float], Callable[[], Iterable[dict[str, Any]]]]],
    tokenizer: ChatTokenizer,
    options: PackingJob,
) -> Packed:
    """Fill the arrays of ``target`` from ``corpora``: ``{id: (share by stage, read)}``.

    As :func:`~revocab.training.data.packing.pack` does with documents: rows of one corpus stay in
    the order of its conversations, unless ``shuffle_rows`` is set. Errors: see :func:`filled_rows`.
    """
    import numpy as np

    packed, places = assigned_rows({name: share for name, (share, _) in corpora.items()}, options)
    for name, (_, read) in corpora.items():
        empty = packed.corpora[name]
        count = ConversationCount(share=empty.share, rows=empty.rows)
        packed.corpora[name] = count
        done = 0
        for block in blocks_of_rows(filled_rows(name, read, tokenizer, options, count)):
            rows = places[name][done : done + len(block)]
            tokens_RL, starts_RL, learned_RL = arrays_of(block, options.sequence_length)
            target["tokens"][rows] = tokens_RL
            target["starts"][rows] = np.packbits(starts_RL, axis=1)
            target["answers"][rows] = np.packbits(learned_RL, axis=1)
            done += len(block)
            packed.largest_id = max(packed.largest_id, int(tokens_RL.max()))
    return packed


def blocks_of_rows(rows: Iterator[list[Conversation]]) -> Iterator[list[list[Conversation]]]:
    block = []
    for row in rows:
        block.append(row)
        if len(block) == BLOCK_ROWS:
            yield block
            block = []
    if block:
        yield block
