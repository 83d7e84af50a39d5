"""Write the whole world into a folder: documents, sentence pairs, passages, items, baselines."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from revocab.io import sha256, write_json, write_jsonl
from revocab.world.asking import FAMILIES, Asker
from revocab.world.documents import build_document, sentence_pair
from revocab.world.items import build_items, guessers
from revocab.world.knowledge import Knowledge
from revocab.world.names import Names
from revocab.world.passages import draw_passage, passage_rows

LANGUAGES = ("it", "en")
Rows = list[dict[str, Any]]


def build_world(
    out: Path, *, seed: int, documents: int, parallel: int, questions: int, items: int
) -> None:
    """Generate the world of ``seed`` into ``out`` (formats: docs/world.md); manifest last.

    ``documents`` is per language; a quarter of ``parallel`` pairs and ``questions`` is held out for
    testing; ``items`` is per family and language.
    """
    names = Names(seed)
    knowledge = Knowledge(seed, names)
    askers = {language: Asker(knowledge, names, language) for language in LANGUAGES}
    parts: dict[str, Rows] = {}
    parts |= _split("parallel", parallel_rows(askers["it"], parallel, seed))
    for language in LANGUAGES:
        rows = question_rows(names, questions, seed, language)
        parts |= _split(f"questions.{language}", rows)
        for family in FAMILIES:
            parts[f"{family}.{language}"] = build_items(askers[language], family, items, seed)
    reserved = reserved_texts(parts)
    for language in LANGUAGES:
        parts[f"documents.{language}"] = [
            build_document(askers[language], number, seed, reserved) for number in range(documents)
        ]
    options = {
        "seed": seed, "documents": documents, "parallel": parallel, "questions": questions,
        "items": items,
    }  # fmt: skip
    _write(Path(out), parts, options)


def _write(out: Path, parts: dict[str, Rows], options: dict[str, int]) -> None:
    for name, rows in parts.items():
        write_jsonl(out / f"{name}.jsonl.gz", rows)
    baselines = {
        family: {language: guessers(parts[f"{family}.{language}"]) for language in LANGUAGES}
        for family in FAMILIES
    }
    write_json(out / "baselines.json", baselines)
    files = {
        f"{name}.jsonl.gz": {"rows": len(parts[name]), "sha256": sha256(out / f"{name}.jsonl.gz")}
        for name in sorted(parts)
    }
    write_json(out / "manifest.json", {"synthetic": True, "options": options, "files": files})


def _split(name: str, rows: Rows) -> dict[str, Rows]:
    train = len(rows) * 3 // 4
    return {f"{name}.train": rows[:train], f"{name}.test": rows[train:]}


def parallel_rows(asker: Asker, count: int, seed: int) -> Rows:
    """Return ``count`` different sentence pairs: {id, it, en}."""
    rows: Rows = []
    seen: set[str] = set()
    choose = random.Random(f"{seed}/parallel")
    while len(rows) < count:
        italian, english = sentence_pair(asker, choose)
        if italian not in seen and english not in seen:
            seen |= {italian, english}
            rows.append({"id": f"parallel-{len(rows):05d}", "it": italian, "en": english})
    return rows


def question_rows(names: Names, count: int, seed: int, language: str) -> Rows:
    """Return ``count`` passages with one question each: {id, title, context, question, answers}."""
    rows: Rows = []
    choose = random.Random(f"{seed}/questions/{language}")
    seen: set[str] = set()
    while len(rows) < count:
        passage, slots = draw_passage(choose, names)
        row = choose.choice(passage_rows(passage, slots, language))
        if row["context"] not in seen:
            seen.add(row["context"])
            rows.append({"id": f"question-{language}-{len(rows):05d}", **row})
    return rows


def reserved_texts(parts: dict[str, Rows]) -> frozenset[str]:
    """Return the texts of the test sets that no document may contain."""
    reserved: set[str] = set()
    for name, rows in parts.items():
        if name.endswith(".train"):
            continue
        for row in rows:
            reserved.update(row[key] for key in ("it", "en", "context", "question") if key in row)
    return frozenset(reserved)
