"""Every configured table of an experiment: built once, as data, and written in every form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from revocab.closed import unknown
from revocab.errors import RevocabError, refuse
from revocab.io import read_json, write_json, write_text
from revocab.output import OutputFolder
from revocab.report.kind import DATA_ENDING, TABLE_ENDINGS, TableOptions
from revocab.report.published import PublishedCell
from revocab.report.results import Results
from revocab.report.table_parts.render import to_csv, to_latex, to_markdown
from revocab.report.table_parts.table import OTHERWISE, Table
from revocab.report.template import notes

RENDER = dict(zip(TABLE_ENDINGS, (to_csv, to_markdown, to_latex), strict=True))


def build_table(results: Results, identifier: str) -> Table:
    """Return one configured table; where results are missing, its cells show a dash.

    Raises :class:`RevocabError` if published values of it have no place in it.
    """
    options = results.experiment.tables[identifier]
    table = options.build(results)
    table.identifier, table.kind, table.title = identifier, options.kind, options.title
    limited = options.limited(results)
    table.limited = f"limited run: {limited}" if limited else None
    remarks = add_published(table, options, results, identifier)
    about = (table, options, results)
    table.notes += [*notes(f"table_{options.kind}", *about), *notes("any_table", *about), *remarks]
    return table


def add_published(
    table: Table, options: TableOptions, results: Results, identifier: str
) -> list[str]:
    """Put published values into a table's cells, and return what the files say of them.

    A value that ours is not compared with has a mark. Those without a place in the table (a model
    that we do not run) are returned. Raises :class:`RevocabError` if none has one: the file then
    names another table's rows or columns.
    """
    refuse(
        unknown(f"tables.{identifier}.uncompared", column, table.columns[1:], "column")
        for column in options.uncompared
        if column not in table.columns
    )
    places, cells = table.places(), options.published(results, identifier)
    for (_, _, column), cell in places.items():
        if column in options.uncompared:
            cell.published_mark = OTHERWISE
    numbers = {place for place, cell in places.items() if cell.text is None}
    fits = [printed for printed in cells if printed.place in numbers]
    if cells and not fits:
        rows, names = (list(dict.fromkeys(place[part] for place in places)) for part in (1, 2))
        raise RevocabError(
            f"published values of table {identifier!r}: none has a place there, such as "
            f"{cells[0].label()!r} (rows: {', '.join(rows)}; columns: {', '.join(names)}); name "
            "rows and columns as the table's CSV file does"
        )
    for printed in fits:
        cell = places[printed.place]
        if printed.value is not None:
            cell.published = printed.value / cell.scale
            cell.published_mark = max(cell.published_mark, printed.mark)
    remarks = [f"Published, {printed.label()}: {printed.note}" for printed in cells if printed.note]
    others = without_place([printed for printed in cells if printed not in fits], table)
    listed = f"Published, and without a place in this table: {'; '.join(others)}."
    return [*remarks, *([listed] if others else [])]


def without_place(cells: Sequence[PublishedCell], table: Table) -> list[str]:
    """Return columns and rows that the table lacks, each once, and every other value by itself."""
    shown = {place[:2] for place in table.places()}
    columns = dict.fromkeys(printed.column for printed in cells)
    lacking = [column for column in columns if column not in table.columns]
    reasons = [f"column{'s' * (len(lacking) > 1)} {', '.join(lacking)}"] if lacking else []
    for printed in cells:
        if printed.column not in lacking:
            reasons.append(printed.label(3 if printed.place[:2] in shown else 2))
    return list(dict.fromkeys(reasons))


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
