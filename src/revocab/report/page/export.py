"""One Markdown page of an experiment for ``docs/``: claims, tables and small figures, no data."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from revocab.errors import RevocabError
from revocab.io import write_text
from revocab.output import OutputFolder, check_files
from revocab.report import notes
from revocab.report.claim import all_claims, nothing_claimed
from revocab.report.make_figures import caption
from revocab.report.make_tables import made_tables
from revocab.report.names import headed, in_order, numbered
from revocab.report.page import html, sections
from revocab.report.page.cautions import final_accuracies, limitations
from revocab.report.results import Results
from revocab.report.table_parts.render import markdown_escape, markdown_rows, row_of


def markdown_table(header: list[str], rows: list[list[str]]) -> list[str]:
    align = ["---"] + ["---:"] * (len(header) - 1)
    lines = [row_of([markdown_escape(name) for name in header]), row_of(align)]
    return lines + [row_of([markdown_escape(cell) for cell in row]) for row in rows]


def claim_lines(results: Results) -> list[str]:
    claims = all_claims(results)
    if not claims:
        return [nothing_claimed(results)]
    verdicts = {True: "holds", False: "**does not hold**", None: "cannot tell"}
    lines = ["| Claim | Numbers | |", "| --- | --- | --- |"]
    return lines + [
        row_of([*map(markdown_escape, (claim.statement, claim.numbers)), verdicts[claim.holds]])
        for claim in claims
    ]


def folded(title: str, lines: Sequence[str]) -> list[str]:
    """Return lines of Markdown that a click on their title shows."""
    summary = f"<details><summary>{escape(title, quote=False)}</summary>"
    return [summary, "", *lines, "", "</details>", ""]


class Notes:
    """What stands under tables and figures: the same sentences once, then where they stand."""

    def __init__(self, above: Sequence[str]) -> None:
        #: Said above all tables, and so under none.
        self.above = above
        self.places: dict[tuple[str, ...], str] = {}

    def under(self, place: str, notes: Iterable[str]) -> list[str]:
        rest = tuple(note for note in notes if note not in self.above)
        first = self.places.setdefault(rest, place)
        return list(rest) if first == place else [f"As under {first}."]


def page(
    results: Results, date: str, command: str, figures: dict[str, str], without: Sequence[str] = ()
) -> str:
    """Return the page; ``figures`` maps a figure's id to its path as seen from the page.

    Tables named in ``without`` are left out by name: the prompts of real data quote that data.
    """
    above = notes.synthetic(results)
    under = Notes(above)
    lines = [f"# Results: {markdown_escape(results.experiment.title)}", ""]
    lines += [f"Date: {date}. Written by `scripts/export_results.py` after this command:", ""]
    lines += ["```sh", command, "```", "", *[f"> {note}\n" for note in above]]
    lines += ["## What it shows", "", *claim_lines(results), "", "## Tables", ""]
    tables = made_tables(results)
    for identifier in in_order(results.experiment.tables):
        table, title = tables[identifier], headed(identifier, tables[identifier].shown_title())
        if identifier in without:
            lines += [f"**{markdown_escape(title)}** is left out: it quotes the data.", ""]
        else:
            noted = [
                f"- {note}"
                for note in under.under(numbered(identifier) or table.title, table.notes)
            ]
            lines += folded(title, [*markdown_rows(table), "", *noted])
    lines += ["## Figures", ""]
    for identifier in in_order(figures):
        options = results.experiment.figures[identifier]
        title = headed(identifier, options.title)
        image = f"![{markdown_escape(title)}]({figures[identifier]})"
        parts = [caption(results, options, alone=False)]
        noted = under.under(numbered(identifier) or title, parts)
        lines += folded(title, [image, "", *noted])
    lines += ["## More", ""]
    for title, (header, rows) in (
        ("Held-out text (bits per byte)", sections.heldout(results)),
        ("Vocabulary intersections", sections.intersections(results)),
        ("Initialisation at full size (random values)", sections.scale(results)),
        ("Cost", sections.trainings(results)),
    ):
        lines += folded(title, markdown_table(header, rows)) if rows else []
    listed = ", ".join(f"{name} {version}" for name, version in html.versions())
    lines += [*folded("Versions", [listed]), "## Limitations", ""]
    cautions = [line for line in limitations(results) if line not in above]
    lines += [f"- {line}" for line in (*final_accuracies(results), *cautions)]
    return "\n".join([*lines, ""])


def export_results(
    root: str | Path,
    out: str | Path,
    figure_folder: str | Path,
    *,
    date: str,
    command: str,
    experiment: str | Path | None = None,
    without: Sequence[str] = (),
) -> None:
    """Write the page to ``out`` and copy the figures (SVG) into ``figure_folder``.

    Raises :class:`RevocabError` if configured figures have not been drawn.
    """
    results = Results(root, experiment)
    out, folder = Path(out), Path(figure_folder)
    check_files(out, inputs=results.inputs)
    output = OutputFolder(folder, "exported figures", around=[results.root])
    drawn = results.root / "figures"
    sources = {figure: drawn / f"{figure}.svg" for figure in results.experiment.figures}
    missing = [str(path) for path in sources.values() if not path.is_file()]
    if missing:
        raise RevocabError(f"{name}: missing; run revocab make_figures" for name in missing)
    paths = {
        identifier: Path(os.path.relpath(folder / source.name, out.parent)).as_posix()
        for identifier, source in sources.items()
    }
    with output.replaced() as copies:
        for source in sources.values():
            shutil.copyfile(source, copies / source.name)
    write_text(out, page(results, date, command, paths, without))
