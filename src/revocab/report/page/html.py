"""The report: one page with every table, figure and claim, readable offline from a single file."""

from __future__ import annotations

import base64
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
from revocab.report.names import in_order, numbered
from revocab.report.page.cautions import final_accuracies, limitations
from revocab.report.page.sections import sections
from revocab.report.results import Results
from revocab.report.table_parts.render import to_html

TEMPLATES = Path(__file__).parent / "templates"
#: Whose versions change numbers, beside those of engines.
LIBRARIES = (
    "revocab", "torch", "transformers", "tokenizers", "datasets", "accelerate", "lm-eval",
    "sacrebleu", "rouge-score", "numpy", "pyarrow", "matplotlib", "snakemake",
)  # fmt: skip

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


def data_uri(path: Path) -> str | None:
    """Return an SVG file as a data URI, or None if there is none.

    As an image and not inline: ids inside one SVG would clash with those of the next.
    """
    if not path.is_file():
        return None
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode("ascii")


def table_parts(results: Results) -> list[dict[str, Any]]:
    tables = made_tables(results)
    return [
        {
            "id": identifier,
            "kind": table.kind,
            "number": numbered(identifier),
            "title": table.shown_title(),
            "short": table.title,
            "html": to_html(table),
            "long": len(table.rows) > LONG,
            "notes": table.notes,
            "files": [f"tables/{identifier}.{ending}" for ending in TABLE_ENDINGS],
        }
        for identifier, table in ((name, tables[name]) for name in in_order(tables))
    ]


def figure_parts(results: Results) -> list[dict[str, Any]]:
    figures = results.experiment.figures
    return [
        {
            "id": identifier,
            "number": numbered(identifier),
            "title": options.title,
            "short": options.title,
            "small": options.small,
            "caption": caption(results, options),
            "image": data_uri(results.root / "figures" / f"{identifier}.svg"),
            "files": [f"figures/{identifier}.{ending}" for ending in FIGURE_ENDINGS],
        }
        for identifier, options in ((name, figures[name]) for name in in_order(figures))
    ]


def page(results: Results, resources: Path | None = None) -> str:
    """Return the report as one HTML page without any outside reference but to its own folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        experiment=results.experiment,
        first=[*notes.synthetic(results), *final_accuracies(results)],
        has_paper=bool(results.paper),
        claims=all_claims(results),
        nothing_claimed=nothing_claimed(results),
        tables=table_parts(results),
        figures=figure_parts(results),
        sections=sections(results, resources or results.resources),
        limitations=limitations(results),
        versions=versions(),
        checks=results.json("checks.json"),
        runs=results.runs,
        score_count=len(results.scores.rows),
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
