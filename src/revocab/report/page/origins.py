"""Where the numbers of a report come from, as far as the records of jobs say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from revocab.chain import Record
from revocab.errors import RevocabError
from revocab.report.results import Results

#: Files that tell of a machine or a moment, and not of what a number was computed from.
MEASURED = ("timing.json", "job.json")
#: What of a run decides its numbers.
SLICE = ("method", "options", "source", "target", "helper", "mixture", "recipe", "seed")
#: Columns of scores.csv that name versions.
VERSIONS = ("harness_version", "task_version", "config_hash", "data_revision")


@cache
def records_of(root: Path) -> dict[str, Record]:
    """Return the record of the job behind each file of an experiment, by the file's path."""
    known: dict[str, Record] = {}
    for path in sorted((root / ".records").glob("*.json")):
        with suppress(RevocabError):  # of an earlier version; the last check says so
            if record := Record.read(path):
                known |= dict.fromkeys(record.writes, record)
    return known


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
    records = records_of(results.root)
    record = records.get(f"results/{results.name}/{file}")
    if record is None:
        yield "no job has recorded it: it is older than records, or was made by hand"
        return
    if not file.startswith("efficiency/"):  # measured anew by each run
        yield f"sha256 {record.writes[f'results/{results.name}/{file}'].sha256}"
    yield f"job: {record}; to make it again, {record.advice}"
    for name, digest in sorted(record.reads.items()):
        if Path(name).name not in MEASURED and not Path(name).name.startswith("."):
            yield f"read {name} sha256 {digest}"
    before: dict[str, None] = {}
    queue = [record]
    for current in queue:
        for name in current.reads:
            maker = records.get(name)
            if maker and str(maker) not in before:
                before[str(maker)] = None
                queue.append(maker)
    if before:
        yield f"jobs before it: {', '.join(before)}"
