"""What of a model folder is uploaded: only what is known to belong there; the rest stays.

Scores of a run go there in the two forms in which the Hub reads them. The head of the card
(`model-index`) takes results of any data. Files in `.eval_results/` put a number on a benchmark's
public leaderboard, so they are written only for the scores that the user names, and never from a
part of the items.
"""

from __future__ import annotations

import csv
import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError, refuse
from revocab.initialise.diagnostics import NAME as DIAGNOSTICS
from revocab.io import number
from revocab.links import check_file, check_links
from revocab.model_check.kind import look_at
from revocab.models.folder import OWN_FILES, ModelFolder
from revocab.models.folder_files import FATES
from revocab.models.origin import HUB_ID, PROVENANCE, history_of
from revocab.models.weights.index import INDEX
from revocab.training.outputs.card import TRAINING, evaluation_result

CARD = "README.md"
#: What is uploaded beside weights, tokenizer and the pictures of the card.
DOCUMENTS = ("config.json", "generation_config.json", CARD, "LICENSE*", "NOTICE*", "USE_POLICY*")
#: Uploaded only when asked for: the card names them, but they tell of the author's corpora.
HISTORY = (PROVENANCE, f"{DIAGNOSTICS}.json")
#: What is read of a table of scores.
COLUMNS = {"step", "task", "metric", "value", "items", "shots", "harness_version", "limit"}
PICTURE = re.compile(r"!\[[^\]]*\]\(([\w.-]+\.(?:png|svg|jpg))\)")


@dataclass
class Contents:
    """Files by their name on the Hub, as bytes where they are made for it, and what stays."""

    folder: Path
    card: Any
    files: dict[str, Path | bytes] = field(default_factory=dict)
    stays: dict[str, str] = field(default_factory=dict)


def check_folder(folder: Path) -> None:
    """Raise :class:`RevocabError` unless a model may be published: the one place that decides."""
    refuse(finding.line(folder) for finding in look_at(folder) if finding.severity == "error")


def contents_of(folder: Path, *, history: bool = False) -> Contents:
    model, card = ModelFolder(folder), read_card(folder)
    contents = Contents(folder, card)
    may_go = {*model.files, INDEX, *FATES, *DOCUMENTS, *PICTURE.findall(card.text)}
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            contents.stays[f"{path.name}/"] = "a folder"
        elif path.name in OWN_FILES and not (history and path.name in HISTORY):
            named = "; --history uploads it" if path.name in HISTORY else ""
            contents.stays[path.name] = f"describes this folder only{named}"
        elif path.name in HISTORY or any(fnmatch.fnmatch(path.name, name) for name in may_go):
            contents.files[path.name] = path
        else:
            contents.stays[path.name] = "no model, tokenizer, card or licence file"
    check_links(folder, contents.files)
    return contents


def read_card(folder: Path) -> Any:
    from huggingface_hub import ModelCard

    card = folder / CARD
    if not card.is_file():
        raise RevocabError(
            f"{folder}: no {CARD}, which is the page on the Hub; write one that begins with at"
            " least license and language between two lines of ---"
        )
    try:
        return ModelCard(card.read_text(encoding="utf-8"))
    # The client raises many unrelated types for YAML that it cannot read.
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise RevocabError(f"{card}: its head cannot be read ({reason}); correct it") from error


def add_results(
    contents: Contents, name: str, tables: Sequence[Path], benchmarks: Mapping[str, str]
) -> None:
    last = history_of(contents.folder)[-1]
    step = str(last["step"]) if last.get("what") == TRAINING else "0"
    scores = {
        f"{row['task']}:{row['metric']}": row for table in tables for row in rows_of(table, step)
    }
    contents.files |= dict(benchmark_files(scores, benchmarks))
    if scores:
        results = (
            (row["task"], row["task"], row["metric"], float(row["value"]), setup_of(row))
            for row in scores.values()
        )
        before = contents.card.data.eval_results or []
        contents.card.data.model_name = name
        contents.card.data.eval_results = [*before, *starmap(evaluation_result, results)]
        contents.files[CARD] = str(contents.card).encode()


def rows_of(table: Path, step: str) -> list[dict[str, str]]:
    try:
        check_file(table)
        with table.open(encoding="utf-8", newline="") as handle:
            rows = list(csv.DictReader(handle))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RevocabError(f"--scores {table}: cannot be read ({error})") from error
    if not rows or not rows[0].keys() >= COLUMNS:
        raise RevocabError(
            f"--scores {table}: not a table of scores; give the multiple_choice.csv of a run, or"
            " what 'revocab score' wrote"
        )
    own = [row for row in rows if row["step"] == step and number(row["value"]) is not None]
    if not own:
        steps = ", ".join(dict.fromkeys(row["step"] for row in rows))
        raise RevocabError(f"--scores {table}: has steps {steps}, but the model is of step {step}")
    return own


def setup_of(row: Mapping[str, str]) -> str:
    part = f" (the first {row['limit']})" if row["limit"] else ""
    return (
        f"{row['shots']} shots, {row['items']} items{part}, lm-evaluation-harness"
        f" {row['harness_version']}"
    )


def benchmark_files(
    scores: Mapping[str, Mapping[str, str]], benchmarks: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    problems = []
    for score, benchmark in benchmarks.items():
        dataset, _, task = benchmark.partition(":")
        if not HUB_ID.fullmatch(dataset) or not task:
            problems.append(f"--benchmarks {score}={benchmark}: expected OWNER/DATASET:TASK_ID")
        elif score not in scores:
            known = ", ".join(scores) or "none; give --scores FILE"
            problems.append(f"--benchmarks {score}: no such score; known: {known}")
        elif limit := scores[score]["limit"]:
            problems.append(
                f"--benchmarks {score}: covers only {limit} items; a leaderboard needs all"
            )
        else:
            value, notes = float(scores[score]["value"]), setup_of(scores[score])
            entry = EvalResultEntry(dataset, task, value, notes=notes)
            text = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False)
            yield f".eval_results/{score.replace(':', '-')}.yaml", text.encode()
    refuse(problems)
