"""Few-shot prompts for translation and question answering (SAVA paper, Tables 8 and 9) and copying.

Translation: the instruction once, then one block per shot and one for the query. Question
answering: blocks only. A blank line separates blocks, and whitespace inside a field is collapsed,
so that an answer is one line and the first blank line ends it:

    Traduci dall'Inglese all'Italiano          Contesto: …
    Text: I love you so much.                  Domanda: …
    Translation: Ti amo così tanto.            Risposta: 2008

    Text: …                                    Contesto: …
    Translation:                               Domanda: …
                                               Risposta:

Copying is laid out as translation is, with labels of its own (:mod:`revocab.evaluation.copying`).
Shots are drawn per item with a seed that depends on the task and the item alone: every checkpoint
sees the same prompts. (The release drew them again in each run.)
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from revocab.closed import Id, Job
from revocab.corpora.source import Form, origin, place, read_numbered
from revocab.errors import RevocabError
from revocab.evaluation import copying
from revocab.evaluation.options import PromptOptions
from revocab.io import sha256, write_json, write_jsonl
from revocab.output import check_files

Kind = Literal["translation", "question_answering", "copying"]
Row = dict[str, Any]

INSTRUCTIONS = {
    ("en", "it"): "Traduci dall'Inglese all'Italiano",
    ("it", "en"): "Translate from Italian to English",
}
#: Labels of passage, question and answer.
LABELS = {
    "it": ("Contesto", "Domanda", "Risposta"),
    "en": ("Context", "Question", "Answer"),
}


class PromptJob(PromptOptions, Job):
    """The prompts of one task, and where their rows come from."""

    task: Id = Field(description="part of the shots' seed")
    seed: int
    pool: Form = Field(default=Form(), description="what the pool's files are, or a Hub data set")
    test: Form = Field(default=Form(), description="likewise for the queries")


def build_prompts(
    job: PromptJob, pool_files: Sequence[Path] = (), test_files: Sequence[Path] = ()
) -> list[Row]:
    """Return one prompt row per query, in the order of the test source.

    With a limit, that many queries are taken at equal distances over the whole test source, because
    neighbours there often share a passage.
    """
    kind, direction = job.kind, job.direction
    check_direction(kind, direction)
    pool, test = place(job.pool, pool_files), place(job.test, test_files)
    pool_rows = read_numbered(job.pool, pool_files, job.pool_limit)
    queries = read_numbered(job.test, test_files)
    if kind == "copying":
        unit = job.unit or "sentence"
        pool_rows = list(copying.units(pool_rows, unit, direction[0]))
        queries = list(copying.units(queries, unit, direction[0]))
        low, high = copying.WORDS[unit]
        for rows, where in ((pool_rows, pool), (queries, test)):
            if not rows:
                raise RevocabError(f"{where}: no {unit} of {low} to {high} words to copy")
    pool_rows = clean_rows(pool_rows, kind, direction, pool)
    queries = spread(clean_rows(queries, kind, direction, test), job.limit)
    return [
        prompt_row(
            kind,
            direction,
            query,
            draw_shots(job.task, query, pool_rows, shots=job.shots, seed=job.seed, where=pool),
        )
        for query in queries
    ]


def write_prompts(
    job: PromptJob, pool_files: Sequence[Path], test_files: Sequence[Path], out: Path
) -> None:
    """Write the prompts, and beside them a manifest of where they come from."""
    described = out.with_suffix(".manifest.json")
    check_files(out, described, inputs=[*pool_files, *test_files])
    rows = build_prompts(job, pool_files, test_files)
    write_jsonl(out, rows)
    sources = {"pool": origin(job.pool, pool_files), "test": origin(job.test, test_files)}
    manifest = {"task": job.task, "rows": len(rows), **sources, "sha256": sha256(out)}
    write_json(described, manifest)


def check_direction(kind: str, direction: Sequence[str]) -> None:
    """Raise :class:`RevocabError` if there is no prompt for the kind and languages."""
    allowed: list[tuple[str, ...]] = (
        list(INSTRUCTIONS)
        if kind == "translation"
        else [(language,) for language in (copying.LABELS if kind == "copying" else LABELS)]
    )
    if tuple(direction) not in allowed:
        listed = ", ".join(" ".join(one) for one in allowed)
        raise RevocabError(
            f"--direction {' '.join(direction)}: no {kind} prompt for it (known: {listed})"
        )


def clean_rows(rows: Sequence[Row], kind: Kind, direction: Sequence[str], where: str) -> list[Row]:
    """Return the rows with what a prompt needs; those with an empty field are left out and counted.

    Raises :class:`RevocabError` if a row lacks a field altogether, or if no row is left.
    """
    fields = {
        "translation": list(direction),
        "question_answering": ["context", "question", "answers"],
        "copying": ["text"],
    }[kind]
    for row in rows:
        missing = [name for name in fields if name not in row]
        if missing:
            raise RevocabError(
                f"{where}, row {row['id']}: no field {missing[0]!r} "
                f"(the row has: {', '.join(sorted(row))})"
            )
    cleaned = [{"id": row["id"], **{name: clean(row[name]) for name in fields}} for row in rows]
    kept = [row for row in cleaned if all(row[name] for name in fields)]
    if not kept:
        raise RevocabError(f"{where}: every row has an empty field among {', '.join(fields)}")
    if len(kept) < len(rows):
        count = len(rows) - len(kept)
        print(f"{where}: left out {count} of {len(rows)} rows, a field is empty", file=sys.stderr)
    return kept


def clean(value: Any) -> str | list[str]:
    """Return a text on one line, or a list (or SQuAD's ``{"text": [...]}``) of non-empty such."""
    if isinstance(value, dict):
        value = value.get("text")
    if isinstance(value, list):
        return [text for text in map(one_line, value) if text]
    return one_line(value)


def one_line(text: Any) -> str:
    """Return text with every run of whitespace, line breaks included, as one space."""
    return " ".join(str("" if text is None else text).split())


def spread(rows: Sequence[Row], limit: int | None) -> list[Row]:
    """Return ``limit`` rows at equal distances, or all."""
    count = len(rows) if limit is None else min(limit, len(rows))
    return [rows[i * len(rows) // count] for i in range(count)]


def draw_shots(
    task: str, query: Row, pool: Sequence[Row], *, shots: int, seed: int, where: str
) -> list[Row]:
    """Return ``shots`` different pool rows for one query, never the query itself."""
    content = {name: value for name, value in query.items() if name not in ("id", "answers")}
    usable = [row for row in pool if any(row[name] != content[name] for name in content)]
    if len(usable) < shots:
        raise RevocabError(
            f"{where}: {shots} shots wanted for item {query['id']}, but only {len(usable)} other "
            "rows are there; lower 'shots' or give a larger pool"
        )
    digest = hashlib.sha256(f"{seed}:{task}:{query['id']}".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big")).sample(usable, shots)


def prompt_row(kind: Kind, direction: Sequence[str], query: Row, shots: Sequence[Row]) -> Row:
    """Return the stored row of one query: its parts, its references and the full prompt."""
    row = {"id": query["id"], "kind": kind, "direction": list(direction)}
    row |= {"shots": list(shots), "query": query}
    references = {
        "translation": lambda: [query[direction[1]]],
        "question_answering": lambda: listed(query["answers"]),
        "copying": lambda: [query["text"]],
    }[kind]()
    return {**row, "references": references, "prompt": render(row)}


def listed(value: str | list[str]) -> list[str]:
    """Return a single answer as a list of one."""
    return [value] if isinstance(value, str) else value


def render(row: Row, shots: int | None = None) -> str:
    """Return the prompt of a stored row with its last ``shots`` shots (None: all).

    A prompt that is too long loses its first shots, so that the order of the others stays.
    """
    kept = row["shots"] if shots is None else row["shots"][len(row["shots"]) - shots :]
    blocks = [block(row, shot, answered=True) for shot in kept]
    blocks.append(block(row, row["query"], answered=False))
    text = "\n\n".join(blocks)
    if row["kind"] == "translation":
        return f"{INSTRUCTIONS[tuple(row['direction'])]}\n{text}"
    if row["kind"] == "copying":
        return f"{copying.INSTRUCTIONS[row['direction'][0]]}\n{text}"
    return text


def block(row: Row, part: Row, *, answered: bool) -> str:
    """Return one shot, or the query up to the label of its answer (no space after it)."""
    if row["kind"] == "translation":
        source, target = row["direction"]
        lines = [f"Text: {part[source]}", "Translation:"]
        answer = part[target]
    elif row["kind"] == "copying":
        original, label = copying.LABELS[row["direction"][0]]
        lines = [f"{original}: {part['text']}", f"{label}:"]
        answer = part["text"]
    else:
        context, question, label = LABELS[row["direction"][0]]
        lines = [f"{context}: {part['context']}", f"{question}: {part['question']}", f"{label}:"]
        answer = listed(part["answers"])[0]
    return "\n".join(lines) + (f" {answer}" if answered else "")
