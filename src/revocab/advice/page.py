"""The page of an advice: sections of tables and lines, as text, Markdown or HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from revocab.report.table_parts.render import markdown_escape, to_markdown
from revocab.report.table_parts.table import Row, Table, text

WIDTH = 100


@dataclass(frozen=True)
class Section:
    """A heading with a table, sentences and a figure, each of which may be missing."""

    title: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[str] = ()
    #: A figure beside it, on the HTML page.
    figure: str = ""
    #: Whether its cells are sentences.
    sentences: bool = False

    def table(self) -> Table:
        rows = [Row([text(cell) for cell in row]) for row in self.rows]
        return Table([*self.header], rows, texts=self.sentences, title=self.title)


def as_text(title: str, headline: str, sections: Sequence[Section]) -> str:
    return "\n".join([title, *wrap(headline, WIDTH), *_text_lines(sections)])


def _text_lines(sections: Sequence[Section]) -> Iterator[str]:
    for section in sections:
        yield f"\n{section.title}"
        yield from _columns(section)
        for line in section.lines:
            yield from wrap(line, WIDTH, initial_indent="  - ", subsequent_indent="    ")


def _columns(section: Section) -> Iterator[str]:
    """Yield a table's rows; the last column of one of sentences is broken into lines."""
    if not section.rows:
        return
    every = [[*section.header], *map(list, section.rows)]
    widths = [max(len(row[column]) for row in every) for column in range(len(section.header))]
    for row in every:
        first = row[0].ljust(widths[0])
        if section.sentences:
            indent = " " * (widths[0] + 4)
            yield from wrap(row[-1], WIDTH, initial_indent=f"  {first}  ", subsequent_indent=indent)
        else:
            cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            yield "  " + "  ".join([first, *cells]).rstrip()


def as_markdown(title: str, headline: str, sections: Sequence[Section]) -> str:
    lines = [f"# {title}", "", f"**{markdown_escape(headline)}**", ""]
    for section in sections:
        lines += [f"## {section.title}", ""]
        if section.rows:
            lines += [to_markdown(section.table()).partition("\n\n")[2]]
        listed = [f"- {markdown_escape(line)}" for line in section.lines]
        lines += [*listed, *([""] if listed else [])]
    return "\n".join(lines)
