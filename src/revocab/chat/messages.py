"""The messages of a conversation as rows of a source hold them, checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from revocab.errors import RevocabError

#: Who wrote a message (``role``) and what it says (``content``).
Message = dict[str, str]
#: The role whose messages are answers.
ASSISTANT = "assistant"
KEYS = ("role", "content")


def checked_messages(value: Any, where: str) -> list[Message]:
    """Return a row's messages with role and content alone; None is no message.

    Raises :class:`RevocabError`, naming ``where``, for what is no list of messages with both.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise RevocabError(f"{where}: a {type(value).__name__}, expected a list of messages")
    return [_checked(message, f"{where}, message {n}") for n, message in enumerate(value, 1)]


def _checked(message: Any, where: str) -> Message:
    if not isinstance(message, dict):
        raise RevocabError(f"{where}: a {type(message).__name__}, expected an object")
    missing = [key for key in KEYS if key not in message]
    if missing:
        present = ", ".join(sorted(map(str, message))) or "none"
        raise RevocabError(
            f"{where}: no {' and no '.join(missing)}; keys found: {present}; write messages as"
            ' {"role": "user", "content": "…"}'
        )
    for key in KEYS:
        if not isinstance(message[key], str):
            raise RevocabError(
                f"{where}: {key} is a {type(message[key]).__name__}, expected text; messages with"
                " images, parts or tool calls are not read: leave them out"
            )
    return {key: message[key] for key in KEYS}


def is_answered(messages: Iterable[Message]) -> bool:
    return any(message["role"] == ASSISTANT and message["content"].strip() for message in messages)


def answers(messages: Iterable[Message]) -> list[str]:
    return [message["content"] for message in messages if message["role"] == ASSISTANT]


def text_of(messages: Iterable[Message]) -> str:
    """Return what is said, without roles: the text that counts of text are taken of."""
    return "\n\n".join(message["content"] for message in messages)
