"""One file of the numbers of an experiment, which no refactoring may change.

``python tests/support/freeze.py OUT.json.gz [--results FOLDER …] [--plan FILE …]`` writes

- of each results folder hashes of packed rows, tensors, items and texts; losses, scores, cells of
  tables, and what figures draw;
- of each experiment file that is only planned what it says in full, and its jobs with their files.

Numbers count, not words, and nothing of how a folder is recorded. ``same_results.py`` compares two.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

#: Of a table's cell: the numbers, and what is marked by them.
CELL = ("value", "stderr", "published", "mark", "interval", "p_value", "deviation", "seed_interval")
#: Digits of a number of a figure, which is drawn in tenths of a point.
DRAWN = 6
#: Columns of tables of scores that say where and when, and of what machine.
UNCOUNTED = ("seconds", "time", "source", "file", "path")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def arrays(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.rglob("*.npy")):
        if {"packed", "heldout", "heldout_answers"} & {*file.parts}:
            array = np.load(file, allow_pickle=False)
            # Rows lay in shards once, of which the small experiment had one.
            name = str(file.relative_to(folder)).replace("-00000.npy", ".npy")
            yield name, f"{array.shape} {digest(array.tobytes())}"


def tensors(folder: Path) -> Iterator[tuple[str, str]]:
    import torch
    from safetensors import safe_open

    for file in sorted(folder.rglob("*.safetensors")):
        if file.is_symlink():
            continue
        with safe_open(file, framework="pt") as opened:
            for name in sorted(opened.keys()):
                tensor = opened.get_tensor(name)
                data = tensor.contiguous().view(-1).view(torch.uint8)
                place = f"{file.parent.relative_to(folder)}:{name}"
                yield place, f"{tensor.dtype} {[*tensor.shape]} {digest(data.numpy().tobytes())}"


def whole(folder: Path, *names: str) -> Iterator[tuple[str, str]]:
    for name in names:
        for file in sorted(folder.rglob(name)):
            values = json.dumps(json.loads(file.read_text("utf-8")), sort_keys=True)
            yield str(file.relative_to(folder)), digest(values.encode())


def rows_of(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        yield from csv.DictReader(opened)


def numbers(row: dict[str, str]) -> tuple[str, dict[str, float]]:
    values, names = {}, []
    for key, text in row.items():
        if any(word in key for word in UNCOUNTED):
            continue
        try:
            values[key] = float(text)
        except (TypeError, ValueError):
            names.append(str(text))
    return " ".join(names), values


def tables_of_numbers(folder: Path, *names: str) -> Iterator[tuple[str, dict[str, float]]]:
    for name in names:
        for file in sorted(folder.rglob(name)):
            for number, row in enumerate(rows_of(file)):
                where, values = numbers(row)
                yield f"{file.relative_to(folder)}:{number} {where}", values


def lines_of(folder: Path, *patterns: str) -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        for file in sorted(folder.glob(pattern)):
            data = file.read_bytes()
            text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf-8")
            for number, line in enumerate(text.splitlines()):
                values = json.dumps(json.loads(line), sort_keys=True)
                yield f"{file.relative_to(folder)}:{number}", digest(values.encode())


def cells(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    from revocab.report.make_tables import build_table
    from revocab.report.results import Results

    results = Results(folder)
    for name in sorted(results.experiment.tables):
        for number, row in enumerate(build_table(results, name).rows):
            for column, cell in enumerate(row.cells):
                values = {key: value for key in CELL if (value := getattr(cell, key)) is not None}
                if values:
                    yield f"{name}:{number}:{column}", values


def drawings(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    """Yield the numbers of the lines, bars, points and images of each figure's panels."""
    import tempfile

    from matplotlib.figure import Figure

    from revocab.report.make_tables import make_figures

    drawn: dict[str, list[Any]] = {}

    def note(figure: Figure, place: Any, **options: Any) -> None:
        name = Path(str(getattr(place, "name", place))).name.strip(".").partition(".")[0]
        drawn[name] = [panel(axes) for axes in figure.axes]
        save(figure, place, **options)

    save, Figure.savefig = Figure.savefig, note  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as out:
            make_figures(folder, Path(out) / "figures")
    finally:
        Figure.savefig = save  # type: ignore[method-assign]
    yield from sorted(drawn.items())


def panel(axes: Any) -> dict[str, Any]:
    def rounded(values: Any) -> Any:
        return np.round(np.asarray(values, dtype=float), DRAWN).tolist()

    return {
        "lines": [rounded(line.get_xydata()) for line in axes.lines],
        "bars": [rounded(patch.get_path().vertices) for patch in axes.patches],
        "points": [rounded(points.get_offsets()) for points in axes.collections],
        "images": [rounded(image.get_array()) for image in axes.images],
    }


def results(folder: Path) -> dict[str, dict[str, Any]]:
    kinds = {
        "packed rows": arrays(folder),
        "tensors": tensors(folder),
        "tokenizers": whole(folder, "tokenizer.json"),
        "losses": tables_of_numbers(folder, "losses.csv", "heldout.csv"),
        "scores": tables_of_numbers(folder, "multiple_choice.csv", "scores.csv", "comet.csv"),
        "items": lines_of(folder, "runs/*/*items.jsonl.gz"),
        "texts": lines_of(folder, "prompts/*.jsonl", "runs/*/generation/step-*/*.jsonl"),
        "cells": cells(folder),
        "figures": drawings(folder),
    }
    return {kind: dict(found) for kind, found in kinds.items()}


def planned(file: str) -> dict[str, dict[str, Any]]:
    """Return what an experiment's file says, key by key, and its jobs with their files."""
    from planning import config_of, workflow_of

    from revocab.experiment import read

    repository = Path.cwd()
    keys = {"data_root": "../shared"} if "{data_root}" in Path(file).read_text("utf-8") else {}
    says = dict(flat(read(file, **keys).model_dump(mode="json", exclude_none=True)))
    jobs = {}
    with workflow_of(repository, config_of(repository, file, **keys), forceall=True) as workflow:
        for job in workflow.dag.needrun_jobs():
            wildcards = " ".join(f"{key}={value}" for key, value in job.wildcards_dict.items())
            files = {"input": sorted(map(str, job.input)), "output": sorted(map(str, job.output))}
            jobs[f"{job.rule.name} {wildcards}".strip()] = files
    return {"experiment": says, "jobs": jobs}


def flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from flat(part, f"{key}.{name}" if key else name)
    else:
        yield key, value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--results", nargs="*", default=[], help="results folders of finished runs")
    parser.add_argument("--plan", nargs="*", default=[], help="experiment files that are planned")
    arguments = parser.parse_args()
    frozen = {name: results(Path(name)) for name in arguments.results}
    frozen |= {file: planned(file) for file in arguments.plan}
    with gzip.open(arguments.out, "wt", encoding="utf-8") as opened:
        json.dump(frozen, opened, sort_keys=True)


if __name__ == "__main__":
    main()
