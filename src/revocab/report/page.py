"""The report: one page with every table, figure and claim, readable offline from a single file."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from revocab import __version__
from revocab.evaluation.inference.engine import engines
from revocab.evaluation.over_seeds import NORMAL_95
from revocab.experiment.lineage import compared_pairs
from revocab.initialise.diagnostics import TITLES
from revocab.io import read_json, write_text
from revocab.languages import language_label
from revocab.marker import Marked
from revocab.output import check_files
from revocab.report.checks import blind_baselines
from revocab.report.claims import all_claims
from revocab.report.claims.shipped import winners
from revocab.report.kind import FIGURE_ENDINGS, TABLE_ENDINGS
from revocab.report.make_figures import caption
from revocab.report.make_tables import made_tables
from revocab.report.names import in_order, method_label
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.table_parts.table import Table
from revocab.report.template import environment, limitations, notes
from revocab.tokenizer_building.training_text import shortage
from revocab.training.data.packed_folder import repetition

Grid = tuple[list[str], list[list[Any]]]

NEW_ROWS = [
    "Run", "Matrix", "Copied rows", "New rows", "Norm copied", "Norm new", "New / copied",
    "Cosine to mean, copied", "Cosine to mean, new", "Near duplicates", "Cosine on anchors",
    "Cosine on held-out anchors",
]  # fmt: skip
INTERSECTIONS = [
    "Source", "Target", "Source size", "Target size", "Overlap", "Missing", "By bytes", "By marker",
    "Equal strings", "Identity",
]  # fmt: skip
TRAININGS = {
    "steps": "Steps", "tokens": "Tokens", "seconds": "Seconds",
    "tokens_per_second": "Tokens per second", "peak_memory_bytes": "Peak memory (GB)",
    "startup_seconds": "Start-up (s)",
}  # fmt: skip


def sections(results: Results, resources: Path) -> dict[str, Grid]:
    """Return the tables that have rows by their anchors, in the order of the page.

    ``resources`` is where the experiment's corpora and world lie.
    """
    possible = {
        "heldout": heldout(results),
        "vocabularies": intersections(results),
        "initialisation": new_rows(results),
        "scale": scale(results),
        "blind-baselines": baseline_table(resources),
        "timings": trainings(results),
    }
    return {name: grid for name, grid in possible.items() if grid[1]}


def heldout(results: Results) -> Grid:
    languages = results.heldout_languages()
    places = ("step 0", "first checkpoint", "last checkpoint")
    header = [f"{language_label(language)}, {place}" for language in languages for place in places]
    rows = []
    for run in results.runs:
        steps = list(dict.fromkeys([0, run.select()[0], run.steps[-1]]))
        cells: list[Any] = []
        for language in languages:
            values = heldout_curve(results, run, language)
            cells += [*map(values.get, steps), *[None] * (3 - len(steps))]
        method = "base model" if run.base else method_label(run)
        rows.append([results.model_label(run), method, *cells])
    return ["Group", "Run", *header], rows


def timings(results: Results) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what each training took, as far as it was recorded."""
    folders = [("models", model) for model in sorted(results.experiment.models)]
    folders += [("runs", run.id) for run in results.runs if run.trains]
    return {parts: found for parts in folders if (found := results.json(*parts, "timing.json"))}


def trainings(results: Results) -> Grid:
    rows = []
    for parts, timing in timings(results).items():
        known = {**(results.json(*parts, "manifest.json") or {}), **timing}
        shown = {key: known.get(key) for key in TRAININGS}
        if (peak := shown["peak_memory_bytes"]) is not None:
            shown["peak_memory_bytes"] = round(peak / 1e9, 2)
        rows.append([parts[1], *shown.values()])
    return ["Training", *TRAININGS.values()], rows


def baseline_table(resources: Path) -> tuple[list[str], list[list[Any]]]:
    rows = blind_baselines(resources)
    names = list(dict.fromkeys(name for row in rows.values() for name in row if name != "items"))
    header = ["Task", "Items", *[name.replace("_", " ").capitalize() for name in names]]
    return header, [
        [task, row["items"], *(round(100 * row[name], 1) for name in names)]
        for task, row in rows.items()
    ]


def intersections(results: Results) -> Grid:
    setting = results.experiment.scale
    at_scale = [(setting.source_tokenizer, setting.target_tokenizer)] if setting else []
    compared = compared_pairs(results.experiment, results.runs)
    rows = []
    for source, target in sorted({*results.tokenizer_pairs(), *compared, *at_scale}):
        report = results.json("intersections", f"{source}--{target}", "report.json")
        if report:
            by = report.get("shared_by", {})
            keys = ("source_size", "target_size", "overlap", "missing")
            counts = [*map(report.get, keys), by.get("bytes"), by.get("marker")]
            shown = [*counts, report.get("raw_overlap"), report.get("identity")]
            rows.append([source, target, *shown])
    return INTERSECTIONS, rows


def scale(results: Results) -> Grid:
    rows = results.csv("scale", "scale.csv") if results.experiment.scale else []
    return list(rows[0]) if rows else [], [[*map(as_number, row.values())] for row in rows]


def as_number(content: str) -> str | float:
    with suppress(ValueError):
        return float(content)
    return content


def new_rows(results: Results) -> Grid:
    rows = []
    for run in results.runs:
        described = results.json("runs", run.id, "init", "diagnostics.json") or {}
        matrices = described.get("matrices", {})
        label = f"{results.model_label(run)}, {method_label(run)}"
        for which, found in matrices.items():
            matrix = TITLES[which] if len(matrices) > 1 else "embedding and LM head"
            copied, new, noted = found["norm_copied"], found["norm_new"], found["method"]
            both = copied["mean"] and new["mean"] is not None
            rows.append(
                [
                    label, matrix, copied["rows"], new["rows"], copied["mean"], new["mean"],
                    new["mean"] / copied["mean"] if both else None,
                    found["cosine_to_mean_copied"], found["cosine_to_mean_new"],
                    found.get("near_duplicates", {}).get("rows"), noted.get("anchors_cosine"),
                    noted.get("held_out_cosine"),
                ]
            )  # fmt: skip
    return NEW_ROWS, rows


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
#: Kinds of figures that tell most at a glance, the best first.
TELLING = ("heldout", "average_score", "loss", "models_by_language", "bars")
#: A file that tells of a machine and a moment, and not of what a number was computed from.
MEASURED = "timing.json"
#: What of a run decides its numbers.
SLICE = ("method", "options", "source", "target", "helper", "mixture", "recipe", "seed")
#: Columns of scores.csv that name versions.
VERSIONS = ("harness_version", "task_version", "config_hash", "data_revision")


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


def beside_published(table: Table) -> list[dict[str, Any]]:
    """Return the cells with a value of ours and one to compare with, each with its place, their
    difference and its reach by chance: 1.96 standard errors over items and deviations over seeds,
    as far as ours has them; None where there is neither.
    """
    rows = []
    for (block, row, column), cell in table.places().items():
        published = cell.compared()
        if published is None or cell.value is None:
            continue
        errors = [error for error in (cell.stderr, cell.deviation) if error]
        found: dict[str, Any] = {"place": ": ".join(filter(None, (block, row))), "column": column}
        found |= {"cell": cell, "difference": (cell.value - published) * cell.scale}
        noise = NORMAL_95 * math.hypot(*errors) * cell.scale
        rows.append({**found, "noise": noise if errors else None})
    return rows


def short_texts(results: Results) -> list[str]:
    """Return which corpora had less text than tokenizers and trainings asked of them."""
    lines = []
    for name in results.experiment.tokenizers:
        manifest = results.json("tokenizers", name, "manifest.json") or {}
        for parts in manifest.values():
            described = parts.values() if isinstance(parts, dict) else ()
            if described and all(isinstance(part, dict) and "of" in part for part in described):
                lines += [f"Tokenizer {name}: {found}." for found in [shortage(parts)] if found]
    for path in sorted(results.root.glob("packed/*/manifest.json")):
        corpora = read_json(path)["corpora"]
        found = [repetition(corpus, packed) for corpus, packed in corpora.items()]
        lines += [f"Training rows {path.parent.name}: {line}." for line in found if line]
    return lines


#: What a job wrote at a path; many numbers have the same jobs before them.
find = cache(Marked.find)


def origin(results: Results, file: str) -> Iterator[str]:
    """Yield what is known of a file that numbers were read from: its part of the experiment, its
    job, the versions and hashes, and the jobs before it.
    """
    yield f"file: {file}"
    run = next((run for run in results.runs if file.startswith(f"runs/{run.id}/")), None)
    if run is not None:
        shown = {key: value for key in SLICE if (value := getattr(run, key)) not in (None, {})}
        yield f"run {run.id}: " + "; ".join(f"{key} {value}" for key, value in shown.items())
        versions = (results.json("runs", run.id, "manifest.json") or {}).get("versions") or {}
        if versions:
            yield "trained with " + ", ".join(f"{key} {value}" for key, value in versions.items())
    rows = [row for row in results.scores.rows if row.get("provenance") == file]
    for name in VERSIONS:
        if known := sorted({str(row[name]) for row in rows if row.get(name)}):
            yield f"{name.replace('_', ' ')}: {', '.join(known)}"
    marked = find(results.root / file)
    if marked is None:
        yield "no job has marked it: it is older than markers, or was made by hand"
        return
    if not file.startswith("efficiency/"):  # measured anew by each run
        yield f"sha256 {next(iter(marked.hashes().values()))}"
    yield f"job: {marked.job}; to make it again, {marked.advice}"
    for name, digest in sorted(marked.marker.inputs.items()):
        if Path(name).name != MEASURED:
            yield f"read {name} sha256 {digest}"
    home = results.root.parent.parent
    before: dict[str, None] = {}
    queue = [marked]
    for current in queue:
        for name in current.marker.inputs:
            maker = find(home / name)
            if maker and maker.job not in before:
                before[maker.job] = None
                queue.append(maker)
    if before:
        yield f"jobs before it: {', '.join(before)}"


def picture(results: Results) -> str | None:
    """Return the id of the figure at the top: one of the most telling kind, of those the last,
    which is the experiment's own where others repeat a paper's.
    """
    figures = results.experiment.figures
    names = in_order(figures)
    of_kinds = [[name for name in names if figures[name].kind == kind] for kind in TELLING]
    return next((found[-1] for found in of_kinds if found), next(iter(names), None))


def parts_of(results: Results, resources: Path | None = None) -> dict[str, Any]:
    """Return what the templates of the page and of its export in Markdown show."""
    tables, figures = made_tables(results), results.experiment.figures
    return {
        "results": results,
        "experiment": results.experiment,
        "tables": {name: tables[name] for name in in_order(tables)},
        "figures": {name: figures[name] for name in in_order(figures)},
        "captions": {name: caption(results, options) for name, options in figures.items()},
        "claims": all_claims(results),
        "synthetic": notes("synthetic", results),
        "sections": sections(results, resources or results.resources),
        "limitations": [*limitations(results), *short_texts(results)],
        "versions": versions(),
    }


def page(results: Results, resources: Path | None = None) -> str:
    """Return the report as one HTML page without any outside reference but to its own folder."""
    parts = parts_of(results, resources)
    drawn = results.root / "figures"
    cells = [cell for table in parts["tables"].values() for cell in table.cells()]
    files = {cell.provenance for cell in cells if cell.value is not None and cell.is_from_a_file()}
    runs = [results.json("runs", run.id, "init", "diagnostics.json") or {} for run in results.runs]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            parts,
            picture=picture(results),
            winners=list(winners(results)),
            images={name: data_uri(drawn / f"{name}.svg") for name in parts["figures"]},
            beside={name: beside_published(table) for name, table in parts["tables"].items()},
            endings={"tables": TABLE_ENDINGS, "figures": FIGURE_ENDINGS},
            timings=list(timings(results).values()),
            machine={"revocab": __version__, **(results.json("machine.json") or {})},
            warnings=[
                f"{run.id}: {warning}"
                for run, described in zip(results.runs, runs, strict=True)
                for warning in described.get("warnings", [])
            ],
            checks=results.json("checks.json"),
            origins={file: list(origin(results, file)) for file in sorted(filter(None, files))},
        )
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
