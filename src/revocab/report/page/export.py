"""One Markdown page of an experiment for ``docs/``: claims, tables and small figures, no data."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from revocab.errors import RevocabError
from revocab.io import write_text
from revocab.output import OutputFolder, check_files
from revocab.report import notes
from revocab.report.claim import all_claims, nothing_claimed
from revocab.report.make_figures import caption
from revocab.report.make_tables import made_tables
from revocab.report.names import headed, in_order
from revocab.report.page import html, sections
from revocab.report.page.cautions import final_accuracies, limitations
from revocab.report.results import Results
from revocab.report.table_parts.render import markdown_escape, row_of, to_markdown


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


def page(
    results: Results, date: str, command: str, figures: dict[str, str], without: Sequence[str] = ()
) -> str:
    """Return the page; ``figures`` maps a figure's id to its path as seen from the page.

    Tables named in ``without`` are left out by name: the prompts of real data quote that data.
    """
    lines = [f"# Results: {markdown_escape(results.experiment.title)}", ""]
    lines += [f"Date: {date}. Command:", "", "```sh", command, "```", ""]
    lines += [f"> {note}\n" for note in (*notes.synthetic(results), *final_accuracies(results))]
    lines += ["This page is written by `scripts/export_results.py` from the results folder.", ""]
    lines += ["## What it shows", "", *claim_lines(results), ""]
    more = [
        ("Held-out text (bits per byte)", sections.heldout(results)),
        ("Vocabulary intersections", sections.intersections(results)),
        ("Initialisation at full size (random values)", sections.scale(results)),
    ]
    lines += ["## Tables", ""]
    tables = made_tables(results)
    for identifier in in_order(results.experiment.tables):
        if identifier in without:
            title = markdown_escape(headed(identifier, results.experiment.tables[identifier].title))
            lines += [f"**{title}** is left out: it quotes the data.", ""]
        else:
            lines += [to_markdown(tables[identifier])]
    lines += ["## Figures", ""]
    for identifier in in_order(figures):
        options = results.experiment.figures[identifier]
        title = markdown_escape(headed(identifier, options.title))
        lines += [f"**{title}**", "", f"![{title}]({figures[identifier]})", ""]
        lines += [caption(results, options), ""]
    for title, (header, rows) in more:
        if rows:
            lines += [f"## {title}", "", *markdown_table(header, rows), ""]
    lines += ["## Cost", "", *markdown_table(*sections.trainings(results)), ""]
    lines += ["## Limitations", "", *[f"- {limitation}" for limitation in limitations(results)], ""]
    listed = ", ".join(f"{name} {version}" for name, version in html.versions())
    lines += ["## Versions", "", listed, ""]
    return "\n".join(lines)


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
