"""Every configured table of an experiment: built once, as data, and written in every form."""

from __future__ import annotations

from pathlib import Path

from revocab.io import read_json, write_json, write_text
from revocab.output import OutputFolder
from revocab.report.kind import TABLE_ENDINGS
from revocab.report.results import Results
from revocab.report.table_parts.published_table import add_published
from revocab.report.table_parts.render import to_csv, to_latex, to_markdown
from revocab.report.table_parts.table import Table

RENDER = dict(zip(TABLE_ENDINGS, (to_csv, to_markdown, to_latex), strict=True))
#: All tables as data, beside their files for readers.
DATA = "tables.json"


def build_table(results: Results, identifier: str) -> Table:
    """Return one configured table; where results are missing, its cells show a dash.

    Raises :class:`RevocabError` if published values of it have no place in it.
    """
    options = results.experiment.tables[identifier]
    table = options.build(results)
    table.identifier, table.kind, table.title = identifier, options.kind, options.title
    limited = options.limited(results)
    table.limited = f"limited run: {limited}" if limited else None
    add_published(table, results.paper.cells(identifier))
    return table


def make_tables(root: str | Path, out: str | Path, experiment: str | Path | None = None) -> None:
    """Write every configured table into ``out`` as CSV, Markdown and LaTeX, and all as JSON."""
    results = Results(root, experiment)
    with OutputFolder(Path(out), "tables", around=[results.root]).replaced() as folder:
        tables = {name: build_table(results, name) for name in sorted(results.experiment.tables)}
        write_json(folder / DATA, {name: table.as_data() for name, table in tables.items()})
        for name, table in tables.items():
            for ending, render in RENDER.items():
                write_text(folder / f"{name}.{ending}", render(table))


def made_tables(results: Results) -> dict[str, Table]:
    """Return every configured table as it was made last; one that was not yet, is built."""
    path = results.root / "tables" / DATA
    stored = read_json(path) if path.is_file() else {}
    return {
        name: Table.from_data(stored[name]) if name in stored else build_table(results, name)
        for name in results.experiment.tables
    }
