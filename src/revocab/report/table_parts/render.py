"""A :class:`Table` as CSV (numbers to compute with), Markdown, LaTeX and HTML (to read)."""

from __future__ import annotations

import csv
import html
import io
import itertools
import re

from revocab.io import cell_of
from revocab.report.names import headed
from revocab.report.table_parts.table import MISSING, Cell, Table


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


def marked(cell: Cell, content: str, best: str, second: str) -> str:
    return {"best": best, "second": second}.get(cell.mark or "", "{}").format(content)


def caption(table: Table) -> str:
    return headed(table.identifier, table.shown_title())


def to_markdown(table: Table) -> str:
    lines = [f"**{markdown_escape(caption(table))}**", "", *markdown_rows(table)]
    lines += ["", *[f"- {note}" for note in table.notes]]
    return "\n".join(lines) + "\n"


def markdown_rows(table: Table) -> list[str]:
    names = [markdown_escape(name) for name in table.columns]
    align = ["---" if i == 0 or table.texts else "---:" for i, _ in enumerate(names)]
    lines = [row_of(names), row_of(align)]
    for row in table.rows:
        if row.section is not None:
            lines.append(row_of([f"*{markdown_escape(row.section)}*"] + [""] * (len(names) - 1)))
        else:
            lines.append(row_of([markdown_cell(cell) for cell in row.cells]))
    return lines


def row_of(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def markdown_escape(content: str) -> str:
    for character in "\\`*_|<>[]&~$":
        content = content.replace(character, f"\\{character}")
    return content.replace("\n", "<br>")


def markdown_cell(cell: Cell) -> str:
    if cell.text is not None:
        return markdown_escape(cell.text)
    content = marked(cell, cell.number(), "**{}**", "<u>{}</u>")
    printed = cell.published_number()
    return f"{content} ({printed})" if printed else content


_LATEX = {
    "†": r"\textdagger{}", "‡": r"\textdaggerdbl{}",
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "×": r"$\times$", "–": "--", "<": r"\textless{}", ">": r"\textgreater{}",
    "\n": r" \newline ",
}  # fmt: skip


def latex_escape(content: str) -> str:
    return "".join(_LATEX.get(character, character) for character in content)


def latex_cell(cell: Cell) -> str:
    if cell.text is not None:
        content = latex_escape(cell.text)
        # After the end of a row, a bracket would begin an option.
        return f"{{}}{content}" if content.startswith("[") else content
    content = marked(cell, latex_escape(cell.number()), r"\textbf{{{}}}", r"\underline{{{}}}")
    printed = cell.published_number()
    return rf"{content} {{\small({latex_escape(printed)})}}" if printed else content


def over_groups(table: Table) -> list[tuple[str, int]]:
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


def is_inside(provenance: str | None) -> bool:
    return re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)*", provenance or "") is not None


def html_cell(cell: Cell, tag: str = "td", interval: str | None = None) -> str:
    """Return a table cell whose tooltip and link lead to the file that its value came from: a path
    in the results folder; of anything else there is the tooltip alone.
    """
    if cell.text is not None:
        content = html.escape(cell.text)
        if "\n" in cell.text:
            content = f"<pre>{content}</pre>"
    else:
        content = html.escape(cell.number())
        content = content.replace("±", '<span class="error">±') + "</span>" * ("±" in content)
        content = marked(cell, content, "<b>{}</b>", "<u>{}</u>")
        printed = cell.published_number()
        if printed:
            content += f' <span class="published">({printed})</span>'
    if cell.provenance and cell.value is not None:
        link = html.escape(cell.provenance)
        title = f"{interval}; from {link}" if interval else f"from {link}"
        href = f'href="{link}" ' if is_inside(cell.provenance) else ""
        content = f'<a class="cell" {href}title="{title}">{content}</a>'
    opening = '<th scope="row">' if tag == "th" else "<td>"
    return f"{opening}{content}</{tag}>"


def to_html(table: Table) -> str:
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
            cells += "".join(html_cell(cell, interval=table.interval_text(cell)) for cell in rest)
            parts.append(f"<tr>{cells}</tr>")
    return "".join(parts) + "</tbody></table>"
