"""Every configured table and figure of an experiment, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from revocab.closed import unknown
from revocab.errors import RevocabError, refuse
from revocab.io import write_text
from revocab.output import OutputFolder
from revocab.report.drawing import Palette, save, style
from revocab.report.kind import TABLE_ENDINGS, FigureOptions, TableOptions
from revocab.report.results import Results
from revocab.report.runs import headed
from revocab.report.table import OTHERWISE, Table
from revocab.report.template import notes, rendered

#: How a figure's lower corners are written.
MARK: dict[str, Any] = {"fontsize": 7, "color": "#8A5300"}


def make_tables(root: str | Path, out: str | Path, experiment: str | Path | None = None) -> None:
    """Write every configured table into ``out`` as CSV, Markdown and LaTeX."""
    results = Results(root, experiment)
    with OutputFolder(Path(out), "tables", around=[results.root]).replaced() as folder:
        for name in sorted(results.experiment.tables):
            table = build_table(results, name)
            for ending in TABLE_ENDINGS:
                write_text(folder / f"{name}.{ending}", rendered(table, ending))


def build_table(results: Results, identifier: str) -> Table:
    """Return one configured table; where results are missing, its cells show a dash. Raises
    :class:`RevocabError` if published values of it have no place in it.
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
    """Put published values into a table's cells, and return what the files say of them. A value
    that ours is not compared with has a mark. Those without a place in the table (a model that we
    do not run) are returned. Raises :class:`RevocabError` if none has one: the file then names
    another table's rows or columns.
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
    remarks = [f"Published, {cell.label()}: {cell.note}" for cell in published if cell.note]
    # Of what has no place: columns, and of the table's own columns rows and values.
    lacking = list(dict.fromkeys(c.column for c in others if c.column not in table.columns))
    absent = [f"column{'s' * (len(lacking) > 1)} {', '.join(lacking)}"] if lacking else []
    known = {place[:2] for place in places}
    absent += [
        printed.label(3 if printed.place[:2] in known else 2)
        for printed in others
        if printed.column in table.columns
    ]
    listed = "; ".join(dict.fromkeys(absent))
    return remarks + [f"Published, and without a place in this table: {listed}."] * bool(listed)


def make_figures(root: str | Path, out: str | Path, experiment: str | Path | None = None) -> None:
    """Draw every configured figure into ``out`` as SVG and PNG, the same bytes each time."""
    results = Results(root, experiment)
    palette = Palette([run.name for run in (*results.shown, *results.runs)])
    with OutputFolder(Path(out), "figures", around=[results.root]).replaced() as folder:
        for identifier, options in sorted(results.experiment.figures.items()):
            limited = options.limited(results)
            with style():
                figure = options.draw(results, palette)
                if results.experiment.world:
                    figure.text(0.995, 0.008, "synthetic data", ha="right", **MARK)
                if limited:
                    figure.text(0.005, 0.008, f"limited run: {limited}", ha="left", **MARK)
                save(figure, folder, identifier, headed(identifier, options.title))


def caption(results: Results, options: FigureOptions) -> str:
    """Return the sentences under a figure, but that its data are synthetic."""
    limited = options.limited(results)
    parts = [options.caption, *notes(f"figure_{options.kind}", options, results)]
    return " ".join(filter(None, [*parts, f"Limited run: {limited}." if limited else ""]))
