"""Pack conversations into rows: whole ones, in order, as many as fit, and padding behind them.

A chat template makes text of a conversation, and marks in it what is learned. Beside the tokens go
two bits for each: where a conversation begins, which keeps attention inside it, and whether it is
learned. Padding is a conversation of its own of which nothing is learned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from revocab.errors import RevocabError
from revocab.training.chat.messages import answers
from revocab.training.chat.template import PROBE, ChatTemplate, Rendered, load_template
from revocab.training.data.packing import (
    BLOCK_ROWS,
    CorpusCount,
    HeldoutJob,
    PackingJob,
    Reader,
    TextTokenizer,
    batched,
)
from revocab.vocabulary.tokenizers.encoding import PARSE, size_of

#: The id behind the last conversation of a row.
PADDING = 0


@dataclass(frozen=True)
class ChatTokenizer(TextTokenizer):
    """A fast tokenizer's backend with a chat template."""

    template: ChatTemplate = field(kw_only=True)


@dataclass(frozen=True)
class Conversation:
    """One conversation's text, its token ids as ``apply_chat_template`` gives them, and which of
    those are learned: ``learned`` [tokens], booleans. ``answer_bytes`` are those of its answers
    without what is ``unseen`` in them: what no token stands for.
    """

    id: str
    text: str
    ids: list[int]
    learned: np.ndarray
    answer_bytes: int
    unseen: Counter[bytes]
    #: As the template writes it, and what each token covers of that: (begin, end) in characters.
    rendered: Rendered
    offsets: list[tuple[int, int]]

    @property
    def place(self) -> str:
        return f"conversation {self.id!r}"

    def cut(self, length: int) -> Conversation:
        """Return its first ``length`` tokens.

        ``answer_bytes`` are those of the marked text in them, the ends of whole answers included.
        """
        text, end = self.rendered.text, self.offsets[length - 1][1]
        marked = "".join(text[begin : min(stop, end)] for begin, stop in self.rendered.answers)
        size = min(self.answer_bytes, len(marked.encode()))
        ids, learned = self.ids[:length], self.learned[:length]
        return replace(self, ids=ids, learned=learned, answer_bytes=size)


@dataclass
class ConversationCount(CorpusCount):
    """What was packed of a corpus of conversations. ``tokens`` are those in rows, ``bytes`` and
    ``words`` those of whole messages; what is left out is counted in every pass.
    """

    counted_if_any: ClassVar[set[str]] = CorpusCount.counted_if_any | {
        "skipped_empty",
        "skipped_too_long",
        "skipped_special",
    }

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
            self.unseen.add(conversation.unseen, conversation.place)
            self.tokens += len(conversation.ids)
            self.answer_tokens += int(conversation.learned.sum())
            self.answer_bytes += conversation.answer_bytes
        self.padding += length - sum(len(conversation.ids) for conversation in row)


def load_chat_tokenizer(folder: str | Path, named: str | Path | None = None) -> ChatTokenizer:
    """Load a tokenizer folder with a ``named`` chat template; None: the tokenizer's own.

    Raises :class:`RevocabError` as :func:`~revocab.training.chat.template.load_template` does, and
    for a template that begins a conversation with more than one bos.
    """
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    tokenizer = load_tokenizer(folder)
    template = load_template(tokenizer, Path(folder), named)
    chat = ChatTokenizer.of(tokenizer, folder, PARSE, template=template)
    probe = chat.template.rendered(PROBE, "a conversation of two questions and answers").text
    ids = chat.encoder.encode(probe, add_special_tokens=False).ids
    if chat.start_id not in (None, chat.end_id) and ids.count(chat.start_id) > 1:
        raise RevocabError(
            f"{chat.template.place}: writes bos more than once in a conversation; leave one, "
            "{{ bos_token }} at its beginning"
        )
    return chat


def conversations_of(
    tokenizer: ChatTokenizer, rows: Iterable[dict[str, Any]], count: ConversationCount
) -> Iterator[Conversation]:
    """Yield every ``{"id", "text", "messages"}`` row as a :class:`Conversation`, in order.

    One whose messages hold the text of a special token is left out, and counted: its tokens would
    be those of another conversation. Raises :class:`RevocabError` naming the conversation that the
    template refuses, or in which it marks nothing.
    """
    special = tokenizer.special_texts.count
    for batch in batched(rows):
        plain = [
            row
            for row in batch
            if not any(special(message["content"]) for message in row["messages"])
        ]
        count.skipped_special += len(batch) - len(plain)
        rendered = [
            tokenizer.template.rendered(row["messages"], f"conversation {row['id']!r}")
            for row in plain
        ]
        encodings = tokenizer.encoder.encode_batch(
            [text.text for text in rendered], add_special_tokens=False
        )
        for row, text, encoding in zip(plain, rendered, encodings, strict=True):
            learned = learned_tokens(text, encoding.offsets)
            learned[:1] = False  # nothing comes before it to predict it from
            if not learned.any():
                raise RevocabError(
                    f"{tokenizer.template.place}: marks no answer in conversation {row['id']!r}; "
                    "correct the template, or leave such conversations out"
                )
            unseen: Counter[bytes] = Counter()
            for answer in answers(row["messages"]):
                unseen += tokenizer.coverage.unseen(answer, encoding.ids)
            size = len("".join(answers(row["messages"])).encode()) - size_of(unseen)
            yield Conversation(
                row["id"], row["text"], encoding.ids, learned, size, unseen, text, encoding.offsets
            )


def learned_tokens(rendered: Rendered, offsets: list[tuple[int, int]]) -> np.ndarray:
    """Return booleans [tokens]: those of which any character lies in a marked answer.

    ``offsets`` are the (begin, end) of the tokens in the text. A token that begins before a mark
    and ends inside it is learned, as in transformers' own masks.
    """
    learned = np.zeros(len(offsets), dtype=bool)
    begins, ends = np.array(offsets, dtype=np.int64).reshape(-1, 2).T
    for begin, end in rendered.answers:
        inside = np.flatnonzero((ends > begin) & (begins < end) & (ends > begins))
        if len(inside):
            learned[inside[0] : inside[-1] + 1] = True
    return learned


def fitting(
    rows: Iterable[dict[str, Any]],
    tokenizer: ChatTokenizer,
    job: PackingJob | HeldoutJob,
    count: ConversationCount,
) -> Iterator[Conversation]:
    """Yield the conversations that fit into a row or window, in order; ``count`` the others.

    Of a longer one that may be cut its first tokens are left, if any of them is learned. Raises
    :class:`RevocabError` for one that may not be left out or cut, and as :func:`conversations_of`.
    """
    length, cut_too_long = job.sequence_length, getattr(job, "cut_too_long", False)
    for conversation in conversations_of(tokenizer, rows, count):
        size = len(conversation.ids)
        if size <= length:
            yield conversation
        elif cut_too_long and conversation.learned[:length].any():
            yield conversation.cut(length)
        elif cut_too_long or job.drop_too_long:
            count.skipped_too_long += 1
        else:
            raise RevocabError(
                f"corpus {count.name}, conversation {conversation.id!r}: {size} tokens,"
                f" but a row has {length}; raise sequence_length, or leave out what is too long"
                " with drop_too_long: true (--drop-too-long), or cut it with cut_too_long: true"
            )


def filled_rows(
    read: Reader, tokenizer: ChatTokenizer, options: PackingJob, count: ConversationCount
) -> Iterator[list[Conversation]]:
    """Yield the conversations of one row after another, in order, until there are ``count.rows``.

    ``count`` is filled on the way. Raises :class:`RevocabError` as :func:`fitting` does, for a
    corpus without any conversation that fits, and if the corpus ends first.
    """
    length = options.sequence_length
    row: list[Conversation] = []
    rows = used = 0
    while options.repeat_corpora or not count.passes:
        count.passes += 1
        for conversation in fitting(read(), tokenizer, options, count):
            if row and (options.one_per_row or used + len(conversation.ids) > length):
                count.add_row(row, length)
                yield row
                rows, used, row = rows + 1, 0, []
                if rows == count.rows:
                    return
            row.append(conversation)
            used += len(conversation.ids)
        if not row:
            raise RevocabError(
                f"corpus {count.name}: no conversation of at most {length} tokens in it; raise"
                " sequence_length, or prepare it again"
            )
    count.add_row(row, length)
    yield row
    if rows + 1 < count.rows:
        raise RevocabError(
            f"corpus {count.name}: its conversations fill {rows + 1} rows of {length} "
            f"tokens, {count.rows} needed; set repeat_corpora: true (--repeat-corpora), give more "
            "conversations, or fewer steps"
        )


def conversation_blocks(
    read: Reader, tokenizer: ChatTokenizer, options: PackingJob, count: ConversationCount
) -> Iterator[dict[str, np.ndarray]]:
    """Yield ``tokens`` [rows, length] (C's unsigned int), and ``starts`` and ``answers`` [rows,
    ceil(length / 8)], a bit for each token, of up to :data:`BLOCK_ROWS` rows.

    See :func:`filled_rows`. Padding begins where a conversation would.
    """
    filled = filled_rows(read, tokenizer, options, count)
    while rows := list(islice(filled, BLOCK_ROWS)):
        shape = len(rows), options.sequence_length
        tokens_RL = np.full(shape, PADDING, dtype=np.uintc)
        starts_RL, learned_RL = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        for number, row in enumerate(rows):
            place = 0
            for conversation in row:
                end = place + len(conversation.ids)
                tokens_RL[number, place:end] = conversation.ids
                learned_RL[number, place:end] = conversation.learned
                starts_RL[number, place] = True
                place = end
            starts_RL[number, place : place + 1] = True
        starts, learned = (np.packbits(bits, axis=1) for bits in (starts_RL, learned_RL))
        yield {"tokens": tokens_RL, "starts": starts, "answers": learned}
