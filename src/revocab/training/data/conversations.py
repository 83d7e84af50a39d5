"""Conversations to token ids, by a chat template, with the tokens that are to be learned."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.chat.messages import answers
from revocab.chat.template import PROBE, ChatTemplate, Rendered, load_template, special_texts
from revocab.errors import RevocabError
from revocab.training.data.document_tokens import TextTokenizer, batched, count_bytes

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class ChatTokenizer(TextTokenizer):
    """A fast tokenizer's backend with a chat template."""

    template: ChatTemplate
    #: Finds the text of a special token, which a message must not hold.
    special: re.Pattern[str]


@dataclass(frozen=True)
class Conversation:
    """One conversation's text, its token ids as ``apply_chat_template`` gives them, and which of
    those are learned: ``learned`` [tokens], booleans. ``answer_bytes`` are those of its answers.
    """

    id: str
    text: str
    ids: list[int]
    learned: np.ndarray
    answer_bytes: int


def load_chat_tokenizer(folder: str | Path, template: str | Path | None = None) -> ChatTokenizer:
    """Load a tokenizer folder with a chat template; None stands for the tokenizer's own.

    Raises :class:`RevocabError` as :func:`~revocab.chat.template.load_template` does, and for a
    template that begins a conversation with more than one bos.
    """
    from revocab.tokenizers.load import load_tokenizer

    folder = Path(folder)
    tokenizer = load_tokenizer(folder)
    special = map(re.escape, special_texts(tokenizer))
    chat = ChatTokenizer(
        tokenizer.backend_tokenizer,
        len(tokenizer),
        tokenizer.bos_token_id,
        tokenizer.eos_token_id,
        folder,
        load_template(tokenizer, folder, template),
        re.compile("|".join(special) or "(?!)"),
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
    skipped: Callable[[], None] = lambda: None,
) -> Iterator[Conversation]:
    """Yield every ``{"id", "text", "messages"}`` row as a :class:`Conversation`, in order.

    One whose messages hold the text of a special token is left out, and ``skipped`` called: its
    tokens would be those of another conversation. Raises :class:`RevocabError` naming the
    conversation that the template refuses, or in which it marks nothing.
    """
    for batch in batched(rows):
        kept = []
        for row in batch:
            if any(tokenizer.special.search(message["content"]) for message in row["messages"]):
                skipped()
            else:
                kept.append(row)
        rendered = [
            tokenizer.template.rendered(row["messages"], f"conversation {row['id']!r}")
            for row in kept
        ]
        texts = [text.text for text in rendered]
        encodings = tokenizer.backend.encode_batch(texts, add_special_tokens=False)
        for row, text, encoding in zip(kept, rendered, encodings, strict=True):
            learned = learned_tokens(text, encoding.offsets)
            learned[:1] = False  # nothing comes before it to predict it from
            if not learned.any():
                raise RevocabError(
                    f"{tokenizer.template.place}: marks no answer in conversation {row['id']!r}; "
                    "correct the template, or leave such conversations out"
                )
            size = sum(map(count_bytes, answers(row["messages"])))
            yield Conversation(row["id"], row["text"], encoding.ids, learned, size)


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
