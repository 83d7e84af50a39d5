"""Every configured table of an experiment, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from revocab.closed import unknown
from revocab.errors import RevocabError, refuse
from revocab.io import write_text
from revocab.output import OutputFolder
from revocab.report.kind import TABLE_ENDINGS, TableOptions
from revocab.report.published import PublishedCell
from revocab.report.results import Results
from revocab.report.table import OTHERWISE, Table
from revocab.report.template import notes, rendered


def make_tables(root: str | Path, out: str | Path, experiment: str | Path | None = None) -> None:
    """Write every configured table into ``out`` as CSV, Markdown and LaTeX."""
    results = Results(root, experiment)
    with OutputFolder(Path(out), "tables", around=[results.root]).replaced() as folder:
        for name in sorted(results.experiment.tables):
            table = build_table(results, name)
            for ending in TABLE_ENDINGS:
                write_text(folder / f"{name}.{ending}", rendered(table, ending))


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
    places, published = table.places(), options.published(results, identifier)
    for (_, _, column), cell in places.items():
        if column in options.uncompared:
            cell.published_mark = OTHERWISE
    numbers = {place: cell for place, cell in places.items() if cell.text is None}
    others = [printed for printed in published if printed.place not in numbers]
    if published and others == published:
        rows, columns = (", ".join(dict.fromkeys(place[i] for place in places)) for i in (1, 2))
        raise RevocabError(
            f"published values of table {identifier!r}: none has a place there, such as "
            f"{published[0].label()!r} (rows: {rows}; columns: {columns}); name rows and columns "
            "as the table's CSV file does"
        )
    for printed in published:
        ours = numbers.get(printed.place)
        if ours and printed.value is not None:
            ours.published = printed.value / ours.scale
            ours.published_mark = max(ours.published_mark, printed.mark)
    remarks = [
        f"Published, {printed.label()}: {printed.note}" for printed in published if printed.note
    ]
    listed = "; ".join(dict.fromkeys(without_place(others, table)))
    return remarks + [f"Published, and without a place in this table: {listed}."] * bool(listed)


def without_place(cells: Iterable[PublishedCell], table: Table) -> Iterator[str]:
    """Yield the columns that a table lacks and, of its own columns, the rows and the values."""
    lacking = list(dict.fromkeys(c.column for c in cells if c.column not in table.columns))
    if lacking:
        yield f"column{'s' * (len(lacking) > 1)} {', '.join(lacking)}"
    rows = {place[:2] for place in table.places()}
    for printed in cells:
        if printed.column in table.columns:
            yield printed.label(3 if printed.place[:2] in rows else 2)
