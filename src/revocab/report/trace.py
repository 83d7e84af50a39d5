"""``revocab trace``: where a number of a results folder comes from; the page says the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from revocab.chain import Record
from revocab.errors import RevocabError
from revocab.flags import Parser
from revocab.report.make_tables import made_tables
from revocab.report.results import Results
from revocab.report.table_parts.table import Cell

#: Files that tell of a machine or a moment, and not of what a number was computed from.
MEASURED = ("timing.json", "job.json")
#: What of a run decides its numbers.
SLICE = ("method", "options", "source", "target", "helper", "mixture", "recipe", "seed")
#: Columns of scores.csv that name versions.
VERSIONS = ("harness_version", "task_version", "config_hash", "data_revision")
#: Cells that a value may stand in, of which all is told; of more, only their places.
MOST = 3


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


def cells_of(results: Results, wanted: str) -> Iterator[tuple[str, Cell]]:
    """Yield place and cell of every number that is written so, or stands at TABLE:ROW:COLUMN."""
    for identifier, table in made_tables(results).items():
        for (block, row, column), cell in table.places().items():
            place = f"{identifier}:{row}:{column}"
            shown = cell.number().split("±")[0].split(" ")[0]
            if cell.value is not None and wanted in (place, shown, cell.number()):
                yield f"{place} ({block})" if block else place, cell


def trace(words: Sequence[str]) -> str:
    """Return where the cells that ``RESULTS VALUE`` or ``RESULTS TABLE:ROW:COLUMN`` names come
    from.
    """
    parser = Parser(prog="revocab trace", description=__doc__)
    parser.add_argument("results", type=Path, help="results folder, such as results/demo")
    parser.add_argument("cell", help="a value as it is shown, or TABLE:ROW:COLUMN")
    arguments = parser.parse_args(words)
    results = Results(arguments.results)
    cells = list(cells_of(results, arguments.cell))
    if not cells:
        raise RevocabError(
            f"{arguments.cell!r}: no number of a table of {arguments.results} is written so, and no"
            f" cell stands there (tables: {', '.join(results.experiment.tables)}); give a value as"
            " it is shown, or TABLE:ROW:COLUMN as the table's CSV file names them"
        )
    lines = []
    for place, cell in cells:
        lines.append(f"{place}: {cell.number()}")
        if len(cells) > MOST:
            lines.append(f"  file: {cell.provenance or 'computed from other cells'}")
        elif cell.provenance:
            lines += [f"  {line}" for line in origin(results, cell.provenance)]
    if len(cells) > MOST:
        lines.append("Give one of these places to see more.")
    return "\n".join(lines)
