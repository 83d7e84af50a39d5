"""The page of an advice: sections of tables and lines, as text, Markdown or HTML, and figures.

Style and code of the HTML are those of the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from revocab import __version__
from revocab.advice.findings import KINDS, Findings
from revocab.io import write_text
from revocab.report.annotations import Axes
from revocab.report.figure_parts.palette import SPARE_COLOURS, Palette
from revocab.report.figure_parts.style import label_ends, save, style
from revocab.report.page.html import data_uri
from revocab.report.table_parts.render import to_html, to_markdown
from revocab.report.table_parts.table import Row, Table, text
from revocab.report.template import environment, markdown_escape

WIDTH = 100
#: Of the kinds of :data:`KINDS` those that are times.
TIMES = tuple(kind for kind in KINDS if kind != "memory")


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
    lines = [title, *wrap(headline, WIDTH)]
    for section in sections:
        lines += [f"\n{section.title}", *_columns(section)]
        for line in section.lines:
            lines += wrap(line, WIDTH, initial_indent="  - ", subsequent_indent="    ")
    return "\n".join(lines)


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


def write_page(folder: Path, title: str, headline: str, shown: Sequence[Section]) -> None:
    """Write ``advice.html``, with the figures that stand in ``folder`` inside it."""
    parts = [
        {
            "id": section.title.lower().replace(" ", "-"),
            "title": section.title,
            "lines": section.lines,
            "image": data_uri(folder / f"{section.figure}.svg"),
            "html": to_html(section.table()) if section.rows else "",
        }
        for section in shown
    ]
    template = environment(Path(__file__).parent).get_template("page.html.j2")
    write_text(
        folder / "advice.html",
        template.render(title=title, headline=headline, sections=parts, version=__version__),
    )


def draw_figures(folder: Path, findings: Findings) -> None:
    from matplotlib import pyplot

    with style():
        figure, axes = pyplot.subplots(figsize=(6.4, 3.2), layout="constrained")
        draw_curves(axes, findings)
        save(figure, folder, "curve", "Tokens saved")
        figure, panels = pyplot.subplots(1, len(TIMES), figsize=(7.6, 2.9), layout="constrained")
        for panel, kind in zip(panels, TIMES, strict=True):
            draw_times(panel, kind, findings)
        panels[0].set_ylabel("seconds per million characters")
        save(figure, folder, "times", "What it buys")


def draw_curves(axes: Axes, findings: Findings) -> None:
    palette = Palette([curve.construction for curve in findings.curves])
    labels: list[tuple[float, str, str]] = []
    for curve in findings.curves:
        line = palette.line(curve.construction)
        for points, look in ((curve.points, {"marker": "o", "markersize": 3}), (curve.half, HALF)):
            at = [point.vocabulary for point in points]
            axes.plot(at, [100 * curve.saving(point) for point in points], **{**line, **look})
        labels.append((100 * curve.saving(curve.points[-1]), curve.construction, line["color"]))
    best = findings.facts.best
    axes.plot([best.vocabulary], [100 * best.saved_tokens], "o", markersize=10, fillstyle="none",
              color="#444444")  # fmt: skip
    axes.set(xlabel="tokens in the vocabulary", ylabel="tokens saved, %")
    axes.set_title("Held-out text; thin: learned from half of the text; ring: the chosen size")
    axes.margins(x=0.04)
    label_ends(axes, labels)


#: How the curve of half of the text is drawn.
HALF: dict[str, Any] = {"linewidth": 0.8, "alpha": 0.7}


def draw_times(axes: Axes, kind: str, findings: Findings) -> None:
    columns = (("today", findings.before[kind]), ("then", findings.after[kind]))
    below = [0.0, 0.0]
    for term, colour in zip(columns[0][1], SPARE_COLOURS, strict=False):
        values = [amounts[term] for _, amounts in columns]
        axes.bar([at for at, _ in columns], values, 0.6, bottom=below, color=colour, label=term)
        below = [low + value for low, value in zip(below, values, strict=True)]
    axes.set_title(kind)
    axes.grid(visible=False, axis="x")
    axes.set_ylim(0, max(below) * 1.35)
    axes.legend(fontsize=7, loc="upper right")
