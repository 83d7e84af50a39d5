"""Scores of a run in the two forms in which the Hub reads them.

The head of the card (`model-index`) takes results of any data. Files in `.eval_results/` put a
number on a benchmark's public leaderboard, so they are written only for the scores that the user
names, and never from a part of the items.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from pathlib import Path

from revocab.errors import RevocabError, refuse
from revocab.io import number
from revocab.models.origin import HUB_ID, history_of
from revocab.publishing.contents import CARD, Contents
from revocab.training.outputs.card import TRAINING, evaluation_result

#: What is read of a table of scores.
COLUMNS = {"step", "task", "metric", "value", "items", "shots", "harness_version", "limit"}


def add_results(
    contents: Contents, name: str, tables: Sequence[Path], benchmarks: Mapping[str, str]
) -> None:
    """Put the scores of ``tables`` into the card that is uploaded, and those of ``benchmarks``
    (``TASK:METRIC`` to ``OWNER/DATASET:TASK_ID``) into files of their own.
    """
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
