"""Every configured table of an experiment: built once, as data, and written in every form."""

from __future__ import annotations

from pathlib import Path

from revocab.io import read_json, write_json, write_text
from revocab.output import OutputFolder
from revocab.report import notes
from revocab.report.kind import DATA_ENDING, TABLE_ENDINGS
from revocab.report.results import Results
from revocab.report.table_parts.published_table import add_published
from revocab.report.table_parts.render import to_csv, to_latex, to_markdown
from revocab.report.table_parts.table import Table

RENDER = dict(zip(TABLE_ENDINGS, (to_csv, to_markdown, to_latex), strict=True))


def build_table(results: Results, identifier: str) -> Table:
    """Return one configured table; where results are missing, its cells show a dash.

    Raises :class:`RevocabError` if published values of it have no place in it.
    """
    options = results.experiment.tables[identifier]
    table = options.build(results)
    table.identifier, table.kind, table.title = identifier, options.kind, options.title
    if options.of_text:
        table.notes += [note for note in notes.synthetic(results) if note not in table.notes]
    limited = options.limited(results)
    table.limited = f"limited run: {limited}" if limited else None
    add_published(table, options, results, identifier)
    return table


def make_tables(root: str | Path, out: str | Path, experiment: str | Path | None = None) -> None:
    """Write every configured table into ``out`` as data (JSON), CSV, Markdown and LaTeX."""
    results = Results(root, experiment)
    with OutputFolder(Path(out), "tables", around=[results.root]).replaced() as folder:
        for name in sorted(results.experiment.tables):
            table = build_table(results, name)
            write_json(folder / f"{name}.{DATA_ENDING}", table.as_data())
            for ending, render in RENDER.items():
                write_text(folder / f"{name}.{ending}", render(table))


def made_tables(results: Results) -> dict[str, Table]:
    """Return every configured table as it was made last; one that was not yet, is built."""
    tables = {}
    for name in results.experiment.tables:
        path = results.root / "tables" / f"{name}.{DATA_ENDING}"
        made = path.is_file()
        tables[name] = Table.from_data(read_json(path)) if made else build_table(results, name)
    return tables
