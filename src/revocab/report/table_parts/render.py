"""A :class:`Table` as CSV (numbers to compute with), Markdown, LaTeX and HTML (to read)."""

from __future__ import annotations

import csv
import html
import io
import itertools

from revocab.report.names import headed
from revocab.report.table_parts.table import MISSING, Cell, Table


def to_csv(table: Table) -> str:
    """Return the table as CSV in the units shown, with full digits.

    A number has up to eight columns: itself, ``… stderr``, ``… low`` and ``… high`` (its 95 %
    interval), ``… deviation``, ``… seeds low`` and ``… seeds high`` (over seeds), and
    ``… published``. The column ``block`` names the heading above a row, ``limited``
    says how the scores are limited. Values that are not there are empty.
    """
    names = table.columns
    rows = table.data_rows()
    errors = {i for i, _ in enumerate(names) for r in rows if r.cells[i].stderr is not None}
    ranged = {i for i, _ in enumerate(names) for r in rows if r.cells[i].interval is not None}
    tested = {i for i, _ in enumerate(names) for r in rows if r.cells[i].p_value is not None}
    spread = {i for i, _ in enumerate(names) for r in rows if r.cells[i].deviation is not None}
    seeded = {i for i, _ in enumerate(names) for r in rows if r.cells[i].seed_interval is not None}
    printed = {i for i, _ in enumerate(names) for r in rows if r.cells[i].published is not None}
    sections = any(row.section for row in table.rows)
    header = ["block"] if sections else []
    for i, name in enumerate(names):
        header += [name] + [f"{name} stderr"] * (i in errors)
        header += [f"{name} low", f"{name} high"] * (i in ranged) + [f"{name} p"] * (i in tested)
        header += [f"{name} deviation"] * (i in spread)
        header += [f"{name} seeds low", f"{name} seeds high"] * (i in seeded)
        header += [f"{name} published"] * (i in printed)
    header += ["limited"] if table.limited else []
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    block = ""
    for row in table.rows:
        if row.section is not None:
            block = row.section
            continue
        values = [block] if sections else []
        for i, cell in enumerate(row.cells):
            values.append(plain(cell))
            if i in errors:
                values.append(scaled(cell.stderr, cell))
            if i in ranged:
                values += [scaled(one, cell) for one in cell.interval or (None, None)]
            if i in tested:
                values.append("" if cell.p_value is None else repr(round(cell.p_value, 6)))
            if i in spread:
                values.append(scaled(cell.deviation, cell))
            if i in seeded:
                values += [scaled(one, cell) for one in cell.seed_interval or (None, None)]
            if i in printed:
                values.append(scaled(cell.published, cell))
        writer.writerow([*values, table.limited] if table.limited else values)
    return buffer.getvalue()


def plain(cell: Cell) -> str:
    """Return a cell's text or number for CSV."""
    if cell.text is not None:
        return "" if cell.text == MISSING else cell.text
    return scaled(cell.value, cell)


def scaled(value: float | None, cell: Cell) -> str:
    """Return a number in the unit shown, to six decimals; empty if there is none."""
    return "" if value is None else repr(round(value * cell.scale, 6))


def caption(table: Table) -> str:
    """Return the table's number and title."""
    return headed(table.identifier, table.shown_title())


def to_markdown(table: Table) -> str:
    """Return the table as Markdown: title, table, notes."""
    names = [markdown_escape(name) for name in table.columns]
    align = ["---" if i == 0 or table.texts else "---:" for i, _ in enumerate(names)]
    lines = [f"**{caption(table)}**", "", row_of(names), row_of(align)]
    for row in table.rows:
        if row.section is not None:
            lines.append(row_of([f"*{row.section}*"] + [""] * (len(names) - 1)))
        else:
            lines.append(row_of([markdown_cell(cell) for cell in row.cells]))
    lines += ["", *[f"- {note}" for note in table.notes]]
    return "\n".join(lines) + "\n"


def row_of(cells: list[str]) -> str:
    """Return a Markdown table row."""
    return "| " + " | ".join(cells) + " |"


def markdown_escape(content: str) -> str:
    """Return text that Markdown shows as it is, on one table row."""
    for character in "\\`*_|<>[]&~$":
        content = content.replace(character, f"\\{character}")
    return content.replace("\n", "<br>")


def markdown_cell(cell: Cell) -> str:
    """Return a cell with its mark and its published value."""
    if cell.text is not None:
        return markdown_escape(cell.text)
    content = cell.number()
    if cell.mark == "best":
        content = f"**{content}**"
    elif cell.mark == "second":
        content = f"<u>{content}</u>"
    printed = cell.published_number()
    return f"{content} ({printed})" if printed else content


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "×": r"$\times$", "–": "--", "<": r"\textless{}", ">": r"\textgreater{}",
    "\n": r" \newline ",
}  # fmt: skip


def latex_escape(content: str) -> str:
    """Return text that LaTeX sets as it is."""
    return "".join(_LATEX.get(character, character) for character in content)


def latex_cell(cell: Cell) -> str:
    """Return a cell with its mark and its published value."""
    if cell.text is not None:
        content = latex_escape(cell.text)
        # After the end of a row, a bracket would begin an option.
        return f"{{}}{content}" if content.startswith("[") else content
    content = latex_escape(cell.number())
    if cell.mark == "best":
        content = rf"\textbf{{{content}}}"
    elif cell.mark == "second":
        content = rf"\underline{{{content}}}"
    printed = cell.published_number()
    return rf"{content} {{\small({printed})}}" if printed else content


def over_groups(table: Table) -> list[tuple[str, int]]:
    """Return the upper headers, equal neighbours joined, with how many columns each spans."""
    return [(name, len(list(same))) for name, same in itertools.groupby(table.over or [])]


def column_spec(table: Table) -> str:
    """Return how LaTeX sets the columns: those of texts break lines, and share the page alike."""
    width = len(table.header)
    if table.texts:
        return table.latex_columns or rf"p{{{0.9 / width:.3f}\textwidth}}" * width
    return "l" + "r" * (width - 1)


def to_latex(table: Table) -> str:
    r"""Return the table as a LaTeX float for a document that loads ``booktabs``."""
    width = len(table.header)
    rule = r"\midrule"
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{latex_escape(table.shown_title())}}}",
        rf"\label{{tab:{table.identifier}}}",
        rf"\begin{{tabular}}{{{column_spec(table)}}}",
        r"\toprule",
    ]
    if table.over:
        spans = [
            rf"\multicolumn{{{span}}}{{c}}{{{latex_escape(name)}}}"
            for name, span in over_groups(table)
        ]
        lines.append(" & ".join(spans) + r" \\")
    lines += [" & ".join(map(latex_escape, table.header)) + r" \\", rule]
    for row in table.rows:
        if row.section is not None:
            heading = rf"\multicolumn{{{width}}}{{c}}{{{latex_escape(row.section)}}} \\"
            lines += [rule, heading, rule]
        else:
            lines.append(" & ".join(map(latex_cell, row.cells)) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip{{\footnotesize {latex_escape(note)}}}" for note in table.notes]
    return "\n".join([*lines, r"\end{table*}"]) + "\n"


def html_cell(cell: Cell, tag: str = "td", interval: str | None = None) -> str:
    """Return a table cell whose tooltip and link lead to the file that its value came from."""
    if cell.text is not None:
        content = html.escape(cell.text)
        if "\n" in cell.text:
            content = f"<pre>{content}</pre>"
    else:
        content = html.escape(cell.number())
        content = content.replace("±", '<span class="error">±') + "</span>" * ("±" in content)
        if cell.mark == "best":
            content = f"<b>{content}</b>"
        elif cell.mark == "second":
            content = f"<u>{content}</u>"
        printed = cell.published_number()
        if printed:
            content += f' <span class="published">({printed})</span>'
    if cell.provenance and cell.value is not None:
        link = html.escape(cell.provenance)
        told = f"{interval}; from {link}" if interval else f"from {link}"
        content = f'<a class="cell" href="{link}" title="{told}">{content}</a>'
    opening = '<th scope="row">' if tag == "th" else "<td>"
    return f"{opening}{content}</{tag}>"


def to_html(table: Table) -> str:
    """Return the ``<table>`` element (title and notes are set by the page)."""
    kind = "texts" if table.texts else "numbers"
    parts = [f'<table class="{kind}"><thead>']
    if table.over:
        spans = [
            f'<th colspan="{span}" class="{"over" if name else ""}">{html.escape(name)}</th>'
            for name, span in over_groups(table)
        ]
        parts.append(f"<tr>{''.join(spans)}</tr>")
    heads = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in table.header)
    parts.append(f"<tr>{heads}</tr></thead><tbody>")
    for row in table.rows:
        if row.section is not None:
            width = len(table.header)
            section = f'<th colspan="{width}" scope="rowgroup">{html.escape(row.section)}</th>'
            parts.append(f'<tr class="section">{section}</tr>')
        else:
            first, *rest = row.cells
            cells = html_cell(first, "th")
            cells += "".join(html_cell(one, interval=table.interval_text(one)) for one in rest)
            parts.append(f"<tr>{cells}</tr>")
    return "".join(parts) + "</tbody></table>"
