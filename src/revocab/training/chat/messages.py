"""The messages of a conversation as rows of a source hold them, checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from revocab import yaml_file
from revocab.closed import unknown
from revocab.errors import RevocabError

#: Who wrote a message (``role``) and what it says (``content``).
Message = dict[str, str]
Role = Literal["system", "user", "assistant"]
#: The role whose messages are answers.
ASSISTANT = "assistant"
#: Keys of role and content: those of chat templates, and ShareGPT's.
KEYS = (("role", "content"), ("from", "value"))


@cache
def usual_roles() -> dict[str, Role]:
    listed, _ = yaml_file.read(Path(__file__).with_name("roles.yaml"))
    return {name: role for role in get_args(Role) for name in listed[role]}


@dataclass
class MessageReader:
    """Reads the messages of rows; collects roles that nobody knows, to name them all at once."""

    #: Names of roles beside the usual ones.
    names: Mapping[str, Role] = field(default_factory=dict)
    #: By unknown role: how many messages have it, and the first of them.
    unknown: dict[str, tuple[int, str]] = field(default_factory=dict, init=False)

    def read(self, value: Any, where: str) -> list[Message]:
        """Return a row's messages as ``role`` and ``content`` alone; None is no message.

        Raises :class:`RevocabError`, naming ``where``, for what is no list of messages with both.
        """
        if value is None:
            return []
        if not isinstance(value, list):
            raise RevocabError(f"{where}: a {type(value).__name__}, expected a list of messages")
        return [
            self._message(message, f"{where}, message {n}") for n, message in enumerate(value, 1)
        ]

    def check(self) -> None:
        """Raise :class:`RevocabError` if a message that was read has a role that nobody knows."""
        if self.unknown:
            known = ", ".join(sorted({**usual_roles(), **self.names}))
            raise RevocabError(
                f"{first}: role {name!r} of {count:,} messages is not known; known are {known};"
                f" say whose it is with --message-roles {name}=assistant (config:"
                f" message_roles: {{{name}: assistant}}), or user or system"
                for name, (count, first) in self.unknown.items()
            )

    def _message(self, message: Any, where: str) -> Message:
        if not isinstance(message, dict):
            raise RevocabError(f"{where}: a {type(message).__name__}, expected an object")
        keys = next((keys for keys in KEYS if {*keys} <= {*message}), None)
        if keys is None:
            missing = [key for key in KEYS[0] if key not in message]
            present = ", ".join(sorted(map(str, message))) or "none"
            raise RevocabError(
                f"{where}: no {' and no '.join(missing)}; keys found: {present}; write messages as"
                ' {"role": "user", "content": "…"} or {"from": "human", "value": "…"}'
            )
        for key in keys:
            if not isinstance(message[key], str):
                raise RevocabError(
                    f"{where}: {key} is a {type(message[key]).__name__}, expected text; messages"
                    " with images, parts or tool calls are not read: leave them out"
                )
        name, content = (message[key] for key in keys)
        role = self.names.get(name) or usual_roles().get(name)
        if role is None:
            count, first = self.unknown.get(name, (0, where))
            self.unknown[name] = (count + 1, first)
        return {"role": role or name, "content": content}


def checked_messages(value: Any, where: str) -> list[Message]:
    reader = MessageReader()
    messages = reader.read(value, where)
    reader.check()
    return messages


def filled(messages: Iterable[Message], texts: Mapping[str, Any], where: str) -> list[Message]:
    """Return messages with ``{name}`` replaced by the text of that name; ``{{`` is a brace.

    Nothing else is read in braces. Raises :class:`RevocabError` naming a text that is not there.
    """

    def text(brace: re.Match[str]) -> str:
        name = brace[1]
        if name is None:
            return brace[0][0]
        if name not in texts:
            raise RevocabError(f"{where}: {unknown('{' + name + '}', name, texts, 'text')}")
        return str(texts[name])

    return [
        {**message, "content": re.sub(r"\{\{|\}\}|\{(\w+)\}", text, message["content"])}
        for message in messages
    ]


def is_answered(messages: Iterable[Message]) -> bool:
    return any(message["role"] == ASSISTANT and message["content"].strip() for message in messages)


def answers(messages: Iterable[Message]) -> list[str]:
    return [message["content"] for message in messages if message["role"] == ASSISTANT]
