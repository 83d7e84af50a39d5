"""Prompts of rows that ask by messages of their own, as those of LEP's Darumeru do.

A row has ``messages``, whose texts may name texts of its ``inputs`` in braces. The last one may be
an answer's: of a shot it is the whole answer, of a query its beginning, such as "Answer:".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from revocab.chat.layout import Layout
from revocab.chat.messages import ASSISTANT, Message, checked_messages, filled
from revocab.errors import RevocabError, refuse

Row = dict[str, Any]


def filled_rows(rows: Sequence[Row], where: str) -> list[Row]:
    """Return rows with the usual roles and their inputs in their messages."""
    problems: list[str] = []
    asking = []
    for row in rows:
        place = f"{where}, row {row['id']}: messages"
        try:
            asking.append({**row, "messages": own_messages(row, place)})
        except RevocabError as error:
            problems += error.problems
    refuse(problems)
    return asking


def own_messages(row: Row, where: str) -> list[Message]:
    inputs = row.get("inputs")
    texts = inputs if isinstance(inputs, Mapping) else {}
    messages = filled(checked_messages(row.get("messages"), where), texts, where)
    if all(message["role"] == ASSISTANT for message in messages):
        raise RevocabError(f"{where}: nothing is asked; give a question of role user")
    return messages


def conversation(shots: Sequence[Row], query: Row) -> list[Message]:
    return [message for row in (*shots, query) for message in row["messages"]]


def plain_text(shots: Sequence[Row], query: Row, layout: Layout) -> str:
    """Return the messages as plain text, up to where the query's answer goes on.

    A question is a line, an answer ends a shot, and the beginning of an answer stands bare.
    """
    text = ""
    for message in conversation(shots, query):
        answer = message["role"] == ASSISTANT
        text += message["content"] + (layout.between_shots if answer else layout.between_lines)
    return text.removesuffix(layout.between_shots) if begun(query) else text


def begun(row: Row) -> str:
    last = row["messages"][-1]
    return last["content"] if last["role"] == ASSISTANT else ""
