"""Few-shot prompts of generation tasks: rows of two sources become stored prompts.

How a prompt reads is its kind's (:mod:`revocab.evaluation.generation.kind`), or its row's own: rows
such as those of LEP's Darumeru have ``messages``, whose texts may name texts of their ``inputs`` in
braces. The last one may be an answer's: of a shot it is the whole answer, of a query its beginning,
such as "Answer:". Whitespace inside a kind's texts is collapsed, so that an answer is one line and
what separates shots ends it.

Shots are drawn per item with a seed that depends on the task and the item alone, or the first of
the pool: every checkpoint sees the same prompts. (SAVA's release drew them again in each run.)
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Id, Job
from revocab.corpora.source import Form, place, read_numbered
from revocab.errors import RevocabError, all_of, naming
from revocab.evaluation.generation.kind import PromptOptions, find_kind
from revocab.evaluation.metrics import Row
from revocab.limits import Seed
from revocab.training.chat.layout import Languages, Layout
from revocab.training.chat.messages import ASSISTANT, Message, checked_messages, filled


class PromptJob(PromptOptions, Job):
    """The prompts of one task, and where their rows come from."""

    task: Id = Field(description="name of the task, which also seeds its shots")
    seed: Seed
    pool: Form = Field(default=Form(), description="form of the pool's files, or a Hub data set")
    test: Form = Field(
        default=Form(), description="form of the files of queries, or a Hub data set"
    )


def build_prompts(
    job: PromptJob, pool_files: Sequence[Path] = (), test_files: Sequence[Path] = ()
) -> list[Row]:
    """Return one prompt row per query, in the order of the test source; with a limit, of queries at
    equal distances over the whole source, because neighbours there often share a passage.
    """
    kind, changes = find_kind(job.kind), job.layout_changes()
    with naming(f"--direction {' '.join(job.direction)}: {kind.name}"):
        kind.layout_in(job.direction, changes)
    pool, test = place(job.pool, pool_files), place(job.test, test_files)
    shots = usable_rows(job, read_numbered(job.pool, pool_files, job.pool_limit), pool)
    queries = usable_rows(job, read_numbered(job.test, test_files), test)
    if job.items:
        pin = f"; write 'revision: {job.items.revision}' under its test.hub"
        job.items.compare(job.task, test, len(queries), pin if job.items.revision else "")
    most = {} if job.max_new_tokens is None else {"max_new_tokens": job.max_new_tokens}
    return [
        prompt_row(kind.name, job.direction, query, draw_shots(job, query, shots, pool), changes)
        | most
        for query in spread(queries, job.limit)
    ]


def prompt_row(
    kind: str,
    direction: Languages,
    query: Row,
    shots: Sequence[Row],
    changes: Mapping[str, Any] | None = None,
) -> Row:
    """Return the stored row of one query: its parts, its references and the full prompt.

    ``changes`` are those fields of the layout that are not the kind's; it has them as ``layout``.
    """
    row = {"id": query["id"], "kind": kind, "direction": list(direction)}
    row |= {"layout": dict(changes)} if changes else {}
    row |= {"shots": list(shots), "query": query}
    row["references"] = find_kind(kind).right_answers(query, direction)
    return {**row, "prompt": render(row)}


# Rows of sources ----------------------------------------------------------------------------------


def usable_rows(job: PromptJob, rows: list[Row], where: str) -> list[Row]:
    """Return the queries or shots of a source's rows, without those with an empty field.

    Raises :class:`RevocabError` if a row lacks a field altogether, or if no row is left.
    """
    kind = find_kind(job.kind)
    rows = job.usable(with_messages(rows, where) if job.by_messages else rows, where)
    if not rows:
        raise RevocabError(f"{where}: no row is left for a task of kind {kind.name!r}")
    fields = kind.needed(job)
    for row in rows:
        if missing := [name for name in fields if name not in row]:
            raise RevocabError(
                f"{where}, row {row['id']}: no field {missing[0]!r} "
                f"(the row has: {', '.join(sorted(row))})"
            )
    verbatim = fields if job.by_messages else kind.verbatim
    texts = [
        {"id": row["id"]}
        | {name: row[name] if name in verbatim else clean(row[name]) for name in fields}
        for row in rows
    ]
    full = [row for row in texts if all(row[name] for name in fields)]
    if not full:
        raise RevocabError(f"{where}: every row has an empty field among {', '.join(fields)}")
    if left := len(rows) - len(full):
        print(f"{where}: left out {left} of {len(rows)} rows with an empty field", file=sys.stderr)
    return full


def clean(value: Any) -> str | list[str]:
    """Return a text on one line, or a list (or SQuAD's ``{"text": [...]}``) of non-empty such."""
    if isinstance(value, dict):
        value = value.get("text")
    if isinstance(value, list):
        return [text for text in map(one_line, value) if text]
    return one_line(value)


def one_line(text: Any) -> str:
    return " ".join(str("" if text is None else text).split())


def with_messages(rows: Sequence[Row], where: str) -> list[Row]:
    """Return rows with the usual roles and their inputs in their messages.

    Raises :class:`RevocabError` naming every row whose messages are none, or ask nothing.
    """

    def asking(row: Row) -> Row:
        named, inputs = f"{where}, row {row['id']}: messages", row.get("inputs")
        texts = inputs if isinstance(inputs, Mapping) else {}
        messages = filled(checked_messages(row.get("messages"), named), texts, named)
        if all(message["role"] == ASSISTANT for message in messages):
            raise RevocabError(f"{named}: nothing is asked; give a question of role user")
        return {**row, "messages": messages}

    return all_of(partial(asking, row) for row in rows)


def spread(rows: Sequence[Row], limit: int | None) -> list[Row]:
    """Return ``limit`` rows at equal distances, or all."""
    count = len(rows) if limit is None else min(limit, len(rows))
    return [rows[i * len(rows) // count] for i in range(count)]


def draw_shots(job: PromptJob, query: Row, pool: Sequence[Row], where: str) -> list[Row]:
    """Return different pool rows for one query, never the query itself; the first ones in reverse
    order, so that the very first is nearest to the query and the last to be left out, as in the
    code that LEP's authors released.
    """
    same = () if job.by_messages else find_kind(job.kind).same
    names = same or [name for name in query if name != "id"]
    usable = [row for row in pool if any(row[name] != query[name] for name in names)]
    if len(usable) < job.shots:
        raise RevocabError(
            f"{where}: {job.shots} shots wanted for item {query['id']}, but only {len(usable)} "
            "other rows are there; lower 'shots' or give a larger pool"
        )
    if job.shot_order == "first":
        return usable[: job.shots][::-1]
    digest = hashlib.sha256(f"{job.seed}:{job.task}:{query['id']}".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big")).sample(usable, job.shots)


# How stored rows read -----------------------------------------------------------------------------


def render(row: Row, shots: int | None = None) -> str:
    """Return the prompt of a stored row with its last ``shots`` shots (None: all)."""
    layout = layout_of(row)
    if not asks_itself(row):
        return layout.prompt(*texts_of(row, shots))
    # A question is a line, an answer ends a shot, and the beginning of an answer stands bare.
    text = ""
    for message in own_messages(last_shots(row, shots), row["query"]):
        answer = message["role"] == ASSISTANT
        text += message["content"] + (layout.between_shots if answer else layout.between_lines)
    return text.removesuffix(layout.between_shots) if begun(row["query"]) else text


def messages(row: Row, shots: int | None = None, *, turns: bool) -> list[Message]:
    own, examples = asks_itself(row), last_shots(row, shots)
    asking = own_messages if own else find_kind(row["kind"]).conversation
    if asking is not None and (turns or not examples):
        return asking(examples, row["query"])
    if own:
        return [{"role": "user", "content": render(row, shots)}]
    return layout_of(row).messages(*texts_of(row, shots), turns=turns)


def own_messages(shots: Sequence[Row], query: Row) -> list[Message]:
    return [message for row in (*shots, query) for message in row["messages"]]


def asks_itself(row: Row) -> bool:
    return "messages" in row["query"] and find_kind(row["kind"]).conversation is None


def texts_of(row: Row, shots: int | None) -> tuple[list[Sequence[str]], Sequence[str]]:
    kind, languages = find_kind(row["kind"]), row["direction"]
    examples = [kind.texts_of(shot, languages) for shot in last_shots(row, shots)]
    return examples, kind.texts_of(row["query"], languages)


def last_shots(row: Row, shots: int | None) -> list[Row]:
    return row["shots"] if shots is None else row["shots"][len(row["shots"]) - shots :]


def layout_of(row: Row) -> Layout:
    return worded_layout(row["kind"], tuple(row["direction"]), json.dumps(row.get("layout", {})))


@cache
def worded_layout(kind: str, languages: tuple[str, ...], changes: str) -> Layout:
    return find_kind(kind).layout_in(languages, json.loads(changes))


def begun(row: Row) -> str:
    """Return the beginning of the answer that a query's own messages end with, if they do."""
    last = row["messages"][-1]
    return last["content"] if last["role"] == ASSISTANT else ""
