"""Pack conversations into rows: whole ones, in order, as many as fit, and padding behind them.

A chat template makes text of a conversation, and marks in it what is learned. Beside the tokens go
two bits for each: where a conversation begins, which keeps attention inside it, and whether it is
learned. Padding is a conversation of its own of which nothing is learned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.training.chat.messages import answers
from revocab.training.chat.template import (
    PROBE,
    ChatTemplate,
    Rendered,
    load_template,
    special_texts,
)
from revocab.training.data.document_tokens import TextTokenizer, batched, count_bytes
from revocab.training.data.packing import BLOCK_ROWS, CorpusCount, Packed, PackingJob, assigned_rows
from revocab.vocabulary.tokenizers.encoding import PARSE
from revocab.vocabulary.tokenizers.unseen import size_of

if TYPE_CHECKING:
    import numpy as np

    from revocab.training.data.shards import ShardedRows

#: The id behind the last conversation of a row.
PADDING = 0


@dataclass(frozen=True)
class ChatTokenizer(TextTokenizer):
    """A fast tokenizer's backend with a chat template."""

    template: ChatTemplate = field(kw_only=True)
    #: Finds the text of a special token, which a message must not hold.
    special: re.Pattern[str] = field(kw_only=True)


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
    unseen: Counter[bytes] = field(default_factory=Counter)

    @property
    def place(self) -> str:
        return f"conversation {self.id!r}"

    def cut(self, length: int, rendered: Rendered, end: int) -> Conversation:
        """Return its first ``length`` tokens, which end before character ``end`` of its text.

        ``answer_bytes`` are those of the marked text before it, the ends of whole answers included.
        """
        spans = [rendered.text[begin : min(stop, end)] for begin, stop in rendered.answers]
        size = min(self.answer_bytes, sum(map(count_bytes, spans)))
        ids, learned = self.ids[:length], self.learned[:length]
        return replace(self, ids=ids, learned=learned, answer_bytes=size)


def load_chat_tokenizer(folder: str | Path, template: str | Path | None = None) -> ChatTokenizer:
    """Load a tokenizer folder with a chat template; None stands for the tokenizer's own.

    Raises :class:`RevocabError` as :func:`~revocab.training.chat.template.load_template` does, and
    for a template that begins a conversation with more than one bos.
    """
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    folder = Path(folder)
    tokenizer = load_tokenizer(folder)
    special = map(re.escape, special_texts(tokenizer))
    chat = ChatTokenizer(
        tokenizer.backend_tokenizer,
        len(tokenizer),
        tokenizer.bos_token_id,
        tokenizer.eos_token_id,
        folder,
        PARSE,
        template=load_template(tokenizer, folder, template),
        special=re.compile("|".join(special) or "(?!)"),
    )
    (probe,) = encoded(chat, [{"id": "probe", "text": "", "messages": list(PROBE)}])
    if chat.start_id != chat.end_id and probe.ids.count(chat.start_id or 0) > 1:
        raise RevocabError(
            f"{chat.template.place}: writes bos more than once in a conversation; leave one, "
            "{{ bos_token }} at its beginning"
        )
    return chat


def encoded(
    tokenizer: ChatTokenizer,
    rows: Iterable[dict[str, Any]],
    count: ConversationCount | None = None,
    cut_at: int | None = None,
) -> Iterator[Conversation]:
    """Yield every ``{"id", "text", "messages"}`` row as a :class:`Conversation`, in order.

    One whose messages hold the text of a special token is left out, and counted: its tokens would
    be those of another conversation. Of one that is longer than ``cut_at``, so many tokens are
    left; where none of them is learned, it is left out, and counted. Raises :class:`RevocabError`
    naming the conversation that the template refuses, or in which it marks nothing.
    """
    for batch in batched(rows):
        kept = []
        for row in batch:
            if any(tokenizer.special.search(message["content"]) for message in row["messages"]):
                if count is not None:
                    count.skipped_special += 1
            else:
                kept.append(row)
        rendered = [
            tokenizer.template.rendered(row["messages"], f"conversation {row['id']!r}")
            for row in kept
        ]
        encodings = tokenizer.encoder.encode_batch(
            [text.text for text in rendered], add_special_tokens=False
        )
        for row, text, encoding in zip(kept, rendered, encodings, strict=True):
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
            size = sum(map(count_bytes, answers(row["messages"]))) - size_of(unseen)
            whole = Conversation(row["id"], row["text"], encoding.ids, learned, size, unseen)
            if cut_at is None or len(encoding.ids) <= cut_at:
                yield whole
            elif learned[:cut_at].any():
                yield whole.cut(cut_at, text, encoding.offsets[cut_at - 1][1])
            elif count is not None:
                count.skipped_too_long += 1


def learned_tokens(rendered: Rendered, offsets: list[tuple[int, int]]) -> np.ndarray:
    """Return booleans [tokens]: those of which any character lies in a marked answer.

    ``offsets`` are the (begin, end) of the tokens in the text. A token that begins before a mark
    and ends inside it is learned, as in transformers' own masks.
    """
    import numpy as np

    learned = np.zeros(len(offsets), dtype=bool)
    if not offsets:
        return learned
    begins, ends = np.array(offsets).T
    for begin, end in rendered.answers:
        inside = np.flatnonzero((ends > begin) & (begins < end) & (ends > begins))
        if len(inside):
            learned[inside[0] : inside[-1] + 1] = True
    return learned


@dataclass
class ConversationCount(CorpusCount):
    """What was packed of a corpus of conversations. ``tokens`` are those in rows, ``bytes`` and
    ``words`` those of whole messages; what is left out is counted in every pass.
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
            self.unseen.add(conversation.unseen, conversation.place)
            self.tokens += len(conversation.ids)
            self.answer_tokens += int(conversation.learned.sum())
            self.answer_bytes += conversation.answer_bytes
        self.padding += length - sum(len(conversation.ids) for conversation in row)

    def described(self) -> dict[str, Any]:
        counts = super().described()
        return {key: value for key, value in counts.items() if value or "skipped" not in key}


def fitting(
    name: str,
    rows: Iterable[dict[str, Any]],
    tokenizer: ChatTokenizer,
    length: int,
    drop_too_long: bool,
    count: ConversationCount,
    *,
    cut_too_long: bool = False,
) -> Iterator[Conversation]:
    """Yield the conversations of at most ``length`` tokens, in order; ``count`` the others.

    Raises :class:`RevocabError` for one that is too long and may not be left out or cut.
    """
    for conversation in encoded(tokenizer, rows, count, length if cut_too_long else None):
        if len(conversation.ids) <= length:
            yield conversation
        elif drop_too_long:
            count.skipped_too_long += 1
        else:
            raise RevocabError(
                f"corpus {name}, conversation {conversation.id!r}: {len(conversation.ids)} tokens,"
                f" but a row has {length}; raise sequence_length, or leave out what is too long"
                " with drop_too_long: true (--drop-too-long), or cut it with cut_too_long: true"
            )


def filled_rows(
    name: str,
    read: Callable[[], Iterable[dict[str, Any]]],
    tokenizer: ChatTokenizer,
    options: PackingJob,
    count: ConversationCount,
) -> Iterator[list[Conversation]]:
    """Yield the conversations of one row after another, in order, until there are ``count.rows``.

    ``read`` opens the corpus again on each call, for another pass where it may repeat. ``count`` is
    filled on the way. Raises :class:`RevocabError` as :func:`fitting` does, for a corpus without
    any conversation that fits, and if the corpus ends first.
    """
    length = options.sequence_length
    row: list[Conversation] = []
    rows = used = 0
    while options.repeat_corpora or not count.passes:
        count.passes += 1
        conversation: Conversation | None = None
        drop, cut = options.drop_too_long, options.cut_too_long
        conversations = fitting(name, read(), tokenizer, length, drop, count, cut_too_long=cut)
        for conversation in conversations:
            if row and (options.one_per_row or used + len(conversation.ids) > length):
                count.add_row(row, length)
                yield row
                rows, used, row = rows + 1, 0, []
                if rows == count.rows:
                    return
            row.append(conversation)
            used += len(conversation.ids)
        if conversation is None:
            raise RevocabError(
                f"corpus {name}: no conversation of at most {length} tokens in it; raise"
                " sequence_length, or prepare it again"
            )
    count.add_row(row, length)
    yield row
    if rows + 1 < count.rows:
        raise RevocabError(
            f"corpus {name}: its conversations fill {rows + 1} rows of {length} "
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
        filled = filled_rows(name, read, tokenizer, options, count)
        while block := list(islice(filled, BLOCK_ROWS)):
            rows = places[name][done : done + len(block)]
            tokens_RL, starts_RL, learned_RL = arrays_of(block, options.sequence_length)
            target["tokens"][rows] = tokens_RL
            target["starts"][rows] = np.packbits(starts_RL, axis=1)
            target["answers"][rows] = np.packbits(learned_RL, axis=1)
            done += len(block)
            packed.largest_id = max(packed.largest_id, int(tokens_RL.max()))
    return packed
