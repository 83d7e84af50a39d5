"""Probes: multiple-choice items made from the held-out documents of corpora.

The same corpora, kind, number and seed give the same items. No document is read that is trained on:
what a corpus holds out is in no training, also where it stands in another corpus.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Job, Language
from revocab.corpora.read import texts
from revocab.errors import RevocabError, refuse
from revocab.evaluation.multiple_choice.blind import BASELINES, blind_baselines
from revocab.evaluation.probes.kind import (
    ITEMS,
    Item,
    ProbeKind,
    ProbeOptions,
    Round,
    find_probe,
)
from revocab.io import sha256, write_json, write_jsonl
from revocab.limits import Seed
from revocab.output import OutputFolder

#: What the folder claims to be.
KIND = "probe"


class ProbeJob(ProbeOptions, Job):
    """The items of one probe."""

    language: Language = Field(description="language of the text, such as it")
    seed: Seed


def draw_rounds(kind: ProbeKind, job: ProbeJob, documents: list[str]) -> list[Round]:
    """Return as many rounds as give ``job.number`` items, one of every set of rounds in turn.

    Raises :class:`RevocabError` if the documents do not give so many.
    """
    draw = random.Random(f"{job.seed}:{kind.name}")
    sets = [
        draw.sample(rounds, len(rounds)) for rounds in kind.rounds(documents, job.language, draw)
    ]
    draw.shuffle(sets)
    deepest = max(map(len, sets), default=0)
    ordered = [rounds[depth] for depth in range(deepest) for rounds in sets if depth < len(rounds)]
    wanted = job.number // kind.together
    if len(ordered) < wanted:
        size = sum(len(text.encode()) for text in documents)
        raise RevocabError(
            f"kind {kind.name!r}: {job.number} items wanted, and {len(documents)} held-out "
            f"documents ({size} bytes) give {len(ordered) * kind.together}; lower 'number', or "
            "hold out more text (heldout_bytes)"
        )
    return ordered[:wanted]


def row(item: Item, number: int, draw: random.Random) -> dict[str, Any]:
    """Return an item as templates read it; the answers stand in every position equally often."""
    choices = draw.sample(item.wrong, len(item.wrong))
    answer = number % (len(choices) + 1)
    choices.insert(answer, item.right)
    return {"id": str(number), "context": item.context, "choices": choices, "answer": answer}


def build_items(job: ProbeJob, documents: list[str]) -> list[dict[str, Any]]:
    """Return the rows of a probe. Items of a round stand together, so that the first rows alone
    are as balanced as all.

    Raises :class:`RevocabError` for an unknown kind, and for documents that give too few items.
    """
    kind = find_probe(job.kind)
    problems = kind.problems(job, job.language)
    refuse(problems)
    draw = random.Random(f"{job.seed}:{job.kind}:choices")
    # The answers' positions go round: within a round the order must not tell which is right.
    rounds = [draw.sample(round_, len(round_)) for round_ in draw_rounds(kind, job, documents)]
    items = [item for round_ in rounds for item in round_]
    return [row(item, number, draw) for number, item in enumerate(items)]


def write_probe(job: ProbeJob, corpora: Mapping[str, Path], out: Path) -> None:
    output = OutputFolder(out, KIND, list(corpora.values()))
    documents = [text for folder in corpora.values() for text in texts(folder, "heldout")]
    rows = build_items(job, documents)
    with output.replaced() as folder:
        write_jsonl(folder / ITEMS, rows)
        write_json(folder / BASELINES, blind_baselines(rows))
        manifest = {
            "corpora": {name: sha256(path / "heldout.jsonl.gz") for name, path in corpora.items()},
            "items": len(rows),
            "sha256": sha256(folder / ITEMS),
        }
        write_json(folder / "manifest.json", manifest)
