"""A :class:`Table` as CSV (numbers to compute with), Markdown, LaTeX and HTML (to read)."""

from __future__ import annotations

import csv
import io

from revocab.io import cell_of
from revocab.report.table_parts.table import MISSING, Cell, Table
from revocab.report.template import rendered


def to_csv(table: Table) -> str:
    """Return the table as CSV in the units shown, with full digits.

    A number has further columns where it has more to say (:func:`numbers_of`). The column ``block``
    names the heading above a row, ``limited`` says how the scores are limited. Values that are not
    there are empty.
    """
    rows = [[numbers_of(cell) for cell in row.cells] for row in table.data_rows()]
    columns = [
        (place, name, more)
        for place, name in enumerate(table.columns)
        for more in numbers_of(Cell())
        if not more or any(row[place][more] for row in rows)
    ]
    sections = any(row.section for row in table.rows)
    header = ["block"] if sections else []
    header += [f"{name}{more}" for _, name, more in columns]
    header += ["limited"] if table.limited else []
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(cell_of, header))
    for (block, _), cells in zip(table.rows_in_blocks(), rows, strict=True):
        values = [block] if sections else []
        values += [cells[place][more] for place, _, more in columns]
        values += [table.limited] if table.limited else []
        writer.writerow(map(cell_of, values))
    return buffer.getvalue()


def numbers_of(cell: Cell) -> dict[str, str]:
    """Return what CSV has of a cell, by what follows the name of its column: its text or number,
    its standard error, its 95 % interval, p-value, deviation over seeds, interval over seeds, and
    what a paper prints; apart from that, what it prints of other items or tasks.
    """
    content = cell.text if cell.text != MISSING else ""
    low, high = cell.interval or (None, None)
    seeds_low, seeds_high = cell.seed_interval or (None, None)
    scaled = {
        "": cell.value,
        " stderr": cell.stderr,
        " low": low,
        " high": high,
        " p": cell.p_value,
        " deviation": cell.deviation,
        " seeds low": seeds_low,
        " seeds high": seeds_high,
        " published": cell.compared(),
        " published otherwise": cell.published if cell.compared() is None else None,
    }
    numbers = {
        more: "" if value is None else repr(round(value * (1 if more == " p" else cell.scale), 6))
        for more, value in scaled.items()
    }
    return numbers if content is None else {**numbers, "": content}


def to_markdown(table: Table) -> str:
    return rendered(table, "table.md.j2")


def to_latex(table: Table) -> str:
    r"""Return the table as a LaTeX float for a document that loads ``booktabs``."""
    return rendered(table, "table.tex.j2")


def to_html(table: Table) -> str:
    return rendered(table, "table.html.j2")
