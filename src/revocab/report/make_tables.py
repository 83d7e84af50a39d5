"""Every configured table of an experiment, by kind, and its files."""

from __future__ import annotations

from pathlib import Path

from revocab.io import write_text
from revocab.output import OutputFolder
from revocab.report import notes
from revocab.report.kind import TABLE_ENDINGS, table_kinds
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
    kind = table_kinds()[options.kind]
    table = kind.build(results, identifier, options)
    add_published(table, results.paper.cells(identifier))
    table.limited = notes.limited_run(kind, results, options)
    return table


def make_tables(root: str | Path, out: str | Path, experiment: str | Path | None = None) -> None:
    """Write every configured table into ``out`` as CSV, Markdown and LaTeX."""
    results = Results(root, experiment)
    with OutputFolder(Path(out), "tables", around=[results.root]).replaced() as folder:
        for identifier in sorted(results.experiment.tables):
            table = build_table(results, identifier)
            for ending, render in RENDER.items():
                write_text(folder / f"{identifier}.{ending}", render(table))
