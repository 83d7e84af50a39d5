"""The report: one page with every table, figure and claim, readable offline from a single file."""

from __future__ import annotations

import base64
import re
from importlib import metadata
from pathlib import Path
from typing import Any

from revocab.evaluation.inference.engine import engines
from revocab.io import write_text
from revocab.output import check_files
from revocab.report import notes
from revocab.report.claim import all_claims, nothing_claimed
from revocab.report.kind import FIGURE_ENDINGS, TABLE_ENDINGS
from revocab.report.make_figures import caption
from revocab.report.make_tables import made_tables
from revocab.report.names import anchor, in_order, numbered
from revocab.report.page import opening
from revocab.report.page.cautions import final_accuracies, limitations
from revocab.report.page.origins import origin
from revocab.report.page.sections import sections
from revocab.report.results import Results
from revocab.report.table_parts.published_table import beside_published
from revocab.report.table_parts.render import is_inside, to_html

TEMPLATES = Path(__file__).parent / "templates"
#: Whose versions change numbers, beside those of engines.
LIBRARIES = (
    "revocab", "torch", "transformers", "tokenizers", "datasets", "accelerate", "lm-eval",
    "sacrebleu", "rouge-score", "numpy", "pyarrow", "matplotlib", "snakemake",
)  # fmt: skip

#: Colours of figures on dark paper: paper, grid, ink of axes.
NEUTRAL = {"#ffffff": "#171b20", "#e4e4e4": "#333a42", "#666666": "#8b949e", "#444444": "#c3cad1"}
#: Luminance below which lines, and text and areas, are lightened; ink of numbers on images, which
#: do not change.
READABLE, ON_IMAGE = {"stroke": 0.15, "fill": 0.22}, "#010101"
#: Rows from which on a table scrolls in a frame of its own, so that the next one is in reach.
LONG = 60


def versions() -> list[tuple[str, str]]:
    installed = []
    of_engines = [name for engine in engines().values() for name in engine.libraries]
    for name in dict.fromkeys((*LIBRARIES, *of_engines)):
        try:
            installed.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return installed


def with_dark_colours(svg: str) -> str:
    """Return a figure that follows the reader's colour scheme: paper, ink and grid are exchanged,
    and what would be too dark on the paper is lightened. Images and the text on them stay.
    """
    rules = ["svg{fill:#e3e7eb}"]
    for name, colour in sorted(set(re.findall(r"(fill|stroke): (#[0-9a-f]{6})", svg))):
        if shown := NEUTRAL.get(colour) or lightened(colour, READABLE[name]):
            which = "path" if colour == "#ffffff" else ""
            rules.append(f'{which}[style*="{name}: {colour}"]{{{name}:{shown}!important}}')
    style = f"<style>@media (prefers-color-scheme: dark){{{''.join(rules)}}}</style>"
    return svg.replace("<defs>", f"{style}<defs>", 1)


def lightened(colour: str, least: float) -> str | None:
    """Return a colour mixed with just so much white that it can be read on dark paper; None if it
    can be as it is.
    """
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    for share in () if colour == ON_IMAGE else (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        mixed = [part + (1 - part) * share for part in parts]
        if sum(w * c**2.2 for w, c in zip((0.21, 0.72, 0.07), mixed, strict=True)) >= least:
            return "#" + "".join(f"{round(255 * c):02x}" for c in mixed) if share else None
    return None


def data_uri(path: Path) -> str | None:
    """Return an SVG file as a data URI, or None if there is none.

    As an image and not inline: ids inside one SVG would clash with those of the next.
    """
    if not path.is_file():
        return None
    svg = with_dark_colours(path.read_text(encoding="utf-8"))
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode("ascii")


def table_parts(results: Results) -> list[dict[str, Any]]:
    tables, synthetic = made_tables(results), notes.synthetic(results)
    return [
        {
            "id": anchor(identifier, "table"),
            "kind": table.kind,
            "number": numbered(identifier),
            "title": table.shown_title(),
            "short": table.title,
            "limited": table.limited,
            "html": re.sub(r'class="cell" href="', 'class="cell" href="#from-', to_html(table)),
            "long": len(table.rows) > LONG,
            "notes": [note for note in table.notes if note not in synthetic],
            "beside": beside_published(table),
            "files": [f"tables/{identifier}.{ending}" for ending in TABLE_ENDINGS],
        }
        for identifier, table in ((name, tables[name]) for name in in_order(tables))
    ]


def figure_parts(results: Results) -> list[dict[str, Any]]:
    figures = results.experiment.figures
    return [
        {
            "id": anchor(identifier, "figure"),
            "number": numbered(identifier),
            "title": options.title,
            "short": options.title,
            "small": options.small,
            "caption": caption(results, options, alone=False),
            "image": data_uri(results.root / "figures" / f"{identifier}.svg"),
            "files": [f"figures/{identifier}.{ending}" for ending in FIGURE_ENDINGS],
        }
        for identifier, options in ((name, figures[name]) for name in in_order(figures))
    ]


def origins(results: Results) -> list[dict[str, Any]]:
    """Return what is known of every file that a number on the page links to."""
    tables = made_tables(results).values()
    cells = [cell for table in tables for row in table.data_rows() for cell in row.cells]
    files = {cell.provenance or "" for cell in cells if cell.value is not None}
    return [
        {"file": file, "lines": list(origin(results, file))}
        for file in sorted(files)
        if is_inside(file)
    ]


def page(results: Results, resources: Path | None = None) -> str:
    """Return the report as one HTML page without any outside reference but to its own folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    claims, figures = all_claims(results), figure_parts(results)
    top = opening.picture(results)
    shown = anchor(top, "figure") if top else None
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        experiment=results.experiment,
        opening=opening.lines(results, claims),
        picture=next((part for part in figures if part["id"] == shown), None),
        cautions=final_accuracies(results),
        has_paper=bool(results.paper),
        claims=claims,
        nothing_claimed=nothing_claimed(results),
        tables=table_parts(results),
        figures=figures,
        sections=sections(results, resources or results.resources),
        limitations=limitations(results)[1:],  # the first stands at the top
        versions=versions(),
        checks=results.json("checks.json"),
        runs=results.runs,
        origins=origins(results),
    )


def build_report(
    root: str | Path,
    out: str | Path,
    experiment: str | Path | None = None,
    resources: str | Path | None = None,
) -> None:
    results = Results(root, experiment)
    check_files(out, inputs=results.inputs)
    write_text(out, page(results, Path(resources) if resources else None))
