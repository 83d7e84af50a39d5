"""Published values put into a table's cells, whatever its kind."""

from __future__ import annotations

import math
from collections.abc import Sequence

from revocab.closed import unknown
from revocab.errors import RevocabError, refuse
from revocab.evaluation.over_seeds import NORMAL_95
from revocab.report.kind import TableOptions
from revocab.report.notes import IN_PARENTHESES
from revocab.report.published import PublishedCell
from revocab.report.results import Results
from revocab.report.table_parts.table import MISSING, OTHERWISE, RECOMPUTED, Table, decimal


def add_published(table: Table, options: TableOptions, results: Results, identifier: str) -> None:
    """Put published values into a table's cells, and their notes under it.

    A value that ours is not compared with has a mark, and a note says why.
    """
    strange = [column for column in options.uncompared if column not in table.columns]
    refuse(
        unknown(f"tables.{identifier}.uncompared", column, table.columns[1:], "column")
        for column in strange
    )
    for (_, _, column), cell in table.places().items():
        if column in options.uncompared:
            cell.published_mark = OTHERWISE
    fill_cells(table, options.published(results, identifier))
    marks = {cell.published_mark for cell in table.places().values() if cell.published is not None}
    if OTHERWISE in marks:
        tasks = {task for _, task in options.scores(results.experiment)}
        others = [
            f"{task} has {found:,} items here and {expected:,} there"
            for task, (found, expected) in results.other_items.items()
            if task in tasks
        ]
        others += [f"{column}: {reason}" for column, reason in options.uncompared.items()]
        table.notes.append(
            f"{OTHERWISE} Published for other items or tasks, and compared with nothing"
            + (f": {'; '.join(others)}." if others else ".")
        )
    if RECOMPUTED in marks:
        table.notes.append(
            f"{RECOMPUTED} Mean of the published values of the tasks that are scored here; the "
            "paper's own is over more."
        )


def fill_cells(table: Table, cells: Sequence[PublishedCell]) -> None:
    """Put published values into a table's cells, and their notes under it.

    Those without a place in the table (a model that we do not run) are listed under it. Raises
    :class:`RevocabError` if none has one: the file then names another table's rows or columns.
    """
    if not cells:
        return
    places = table.places()
    numbers = {place for place, cell in places.items() if cell.text is None}
    fits = [printed for printed in cells if printed.place in numbers]
    if not fits:
        rows, names = (list(dict.fromkeys(place[part] for place in places)) for part in (1, 2))
        raise RevocabError(
            f"published values of table {table.identifier!r}: none has a place there, such as "
            f"{cells[0].told()!r} (rows: {', '.join(rows)}; columns: {', '.join(names)}); name "
            "rows and columns as the table's CSV file does"
        )
    for printed in fits:
        cell = places[printed.place]
        if printed.value is not None:
            cell.published = printed.value / cell.scale
            cell.published_mark = max(cell.published_mark, printed.mark)
    notes = [f"Published, {printed.told()}: {printed.note}" for printed in cells if printed.note]
    others = without_place([printed for printed in cells if printed not in fits], table)
    if others:
        notes.append(f"Published, and without a place in this table: {'; '.join(others)}.")
    note = [] if IN_PARENTHESES in table.notes else [IN_PARENTHESES]
    table.notes[:] = [*table.notes, *note, *notes]


def without_place(cells: Sequence[PublishedCell], table: Table) -> list[str]:
    """Return what readers are told of values without a place: columns and rows that the table
    lacks, each once, and every other value by itself.
    """
    shown = {place[:2] for place in table.places()}
    columns = dict.fromkeys(printed.column for printed in cells)
    lacking = [column for column in columns if column not in table.columns]
    reasons = [f"column{'s' * (len(lacking) > 1)} {', '.join(lacking)}"] if lacking else []
    for printed in cells:
        if printed.column not in lacking:
            reasons.append(printed.told(3 if printed.place[:2] in shown else 2))
    return list(dict.fromkeys(reasons))


def beside_published(table: Table) -> list[list[str]]:
    """Return published values, ours, the difference and whether it is within noise, a row each.

    Noise: 1.96 standard errors over items and deviations over seeds, as far as ours has them.
    """
    rows = []
    for (block, row, column), cell in table.places().items():
        published = cell.compared()
        if published is None or cell.value is None:
            continue
        difference = cell.value - published
        errors = [error for error in (cell.stderr, cell.deviation) if error]
        noise = NORMAL_95 * math.hypot(*errors)
        verdict = "within noise" if abs(difference) <= noise else "beyond noise"
        shown = decimal(difference * cell.scale, cell.digits)
        numbers = [cell.published_number() or MISSING, cell.number()]
        numbers.append(shown if difference < 0 else f"+{shown}")
        place = ": ".join(filter(None, (block, row)))
        rows.append([place, column, *numbers, verdict if errors else "no error known"])
    return rows
