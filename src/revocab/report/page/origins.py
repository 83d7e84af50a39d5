"""Where the numbers of a report come from, as far as the markers of jobs say."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from revocab.marker import Marked
from revocab.report.results import Results

#: A file that tells of a machine and a moment, and not of what a number was computed from.
MEASURED = "timing.json"
#: What of a run decides its numbers.
SLICE = ("method", "options", "source", "target", "helper", "mixture", "recipe", "seed")
#: Columns of scores.csv that name versions.
VERSIONS = ("harness_version", "task_version", "config_hash", "data_revision")


#: What a job wrote at a path; many numbers have the same jobs before them.
find = cache(Marked.find)


def origin(results: Results, file: str) -> Iterator[str]:
    """Yield what is known of a file that numbers were read from: its part of the experiment, its
    job, the versions and hashes, and the jobs before it.
    """
    yield f"file: {file}"
    run = next((run for run in results.runs if file.startswith(f"runs/{run.id}/")), None)
    if run is not None:
        shown = {key: value for key in SLICE if (value := getattr(run, key)) not in (None, {})}
        yield f"run {run.id}: " + "; ".join(f"{key} {value}" for key, value in shown.items())
        versions = (results.json("runs", run.id, "manifest.json") or {}).get("versions") or {}
        if versions:
            yield "trained with " + ", ".join(f"{key} {value}" for key, value in versions.items())
    rows = [row for row in results.scores.rows if row.get("provenance") == file]
    for name in VERSIONS:
        if known := sorted({str(row[name]) for row in rows if row.get(name)}):
            yield f"{name.replace('_', ' ')}: {', '.join(known)}"
    marked = find(results.root / file)
    if marked is None:
        yield "no job has marked it: it is older than markers, or was made by hand"
        return
    if not file.startswith("efficiency/"):  # measured anew by each run
        yield f"sha256 {next(iter(marked.hashes().values()))}"
    yield f"job: {marked.job}; to make it again, {marked.advice}"
    for name, digest in sorted(marked.marker.inputs.items()):
        if Path(name).name != MEASURED:
            yield f"read {name} sha256 {digest}"
    home = results.root.parent.parent
    before: dict[str, None] = {}
    queue = [marked]
    for current in queue:
        for name in current.marker.inputs:
            maker = find(home / name)
            if maker and maker.job not in before:
                before[maker.job] = None
                queue.append(maker)
    if before:
        yield f"jobs before it: {', '.join(before)}"
