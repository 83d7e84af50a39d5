"""The report: one page with every table, figure and claim, readable offline from a single file."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from revocab import __version__
from revocab.evaluation.inference.engine import engines
from revocab.experiment.expand import compared_pairs
from revocab.initialise.diagnostics import TITLES
from revocab.io import read_json, write_text
from revocab.marker import Marked
from revocab.output import check_files
from revocab.report.annotations import Run
from revocab.report.claims import all_claims
from revocab.report.claims.shipped import winners
from revocab.report.kind import FIGURE_ENDINGS, TABLE_ENDINGS
from revocab.report.make_tables import build_table, caption
from revocab.report.results import Results
from revocab.report.runs import in_order, method_label
from revocab.report.template import environment, notes
from revocab.training.data.packed_folder import repetition
from revocab.vocabulary.building.training_text import shortage

#: Of a section of the page; ``about.j2`` says which of them are columns.
Rows = list[dict[str, Any]]

#: Kinds of figures that may open the page, the most telling first; losses that show training, too,
#: come later.
TELLING = ("loss", "average_score", "training", "models_by_language", "bars")
#: Verdicts of a claim, that to be shown first coming first.
BEST = (True, False, None)
#: Whose versions change numbers, beside those of engines.
LIBRARIES = (
    "revocab", "torch", "transformers", "tokenizers", "datasets", "accelerate", "lm-eval",
    "sacrebleu", "rouge-score", "numpy", "pyarrow", "matplotlib", "snakemake",
)  # fmt: skip
#: What of a run decides its numbers, and columns of scores.csv that name versions.
SLICE = ("method", "options", "source", "target", "helper", "mixture", "recipe", "seed")
VERSIONS = ("harness_version", "task_version", "config_hash", "data_revision")
#: A file that tells of a machine and a moment, and not of what a number was computed from.
MEASURED = "timing.json"


def build_report(root: str | Path, out: str | Path, experiment: str | Path | None = None) -> None:
    results = Results(root, experiment)
    check_files(out, inputs=results.inputs)
    write_text(out, page(results))


def page(results: Results) -> str:
    """Return the report as one HTML page without any outside reference but to its own folder."""
    parts = parts_of(results)
    cells = [cell for table in parts["tables"].values() for cell in table.cells()]
    files = {cell.provenance for cell in cells if cell.value is not None and cell.is_from_a_file()}
    drawn = results.root / "figures"
    template = environment().get_template("report.html.j2")
    return template.render(
        parts,
        picture=picture(results),
        winner=min(winners(results), key=lambda claim: BEST.index(claim.holds), default=None),
        images={name: data_uri(drawn / f"{name}.svg") for name in parts["figures"]},
        endings={"tables": TABLE_ENDINGS, "figures": FIGURE_ENDINGS},
        machine={"revocab": __version__, **(results.json("machine.json") or {})},
        diagnostics=diagnostics(results),
        checks=results.json("checks.json"),
        origins={file: origin(results, file) for file in sorted(filter(None, files))},
    )


def parts_of(results: Results) -> dict[str, Any]:
    """Return what the templates of the page and of its export in Markdown show."""
    tables, figures = results.experiment.tables, results.experiment.figures
    sections = {
        "runs": runs(results),
        "vocabularies": intersections(results),
        "initialisation": new_rows(results),
        "scale": scale(results),
        "timings": trainings(results),
    }
    return {
        "results": results,
        "experiment": results.experiment,
        "tables": {name: build_table(results, name) for name in in_order(tables)},
        "figures": {name: figures[name] for name in in_order(figures)},
        "captions": {name: caption(results, options) for name, options in figures.items()},
        "claims": all_claims(results),
        "synthetic": notes("synthetic", results),
        "sections": {name: rows for name, rows in sections.items() if rows},
        "limitations": [*notes("limitations", results), *short_texts(results)],
        "versions": list(versions()),
    }


def picture(results: Results) -> str | None:
    """Return the id of the figure at the top: of the most telling ones the last, which is the
    experiment's own where others repeat a paper's.
    """
    figures = results.experiment.figures

    def rank(name: str) -> int:
        kind = figures[name].kind
        if getattr(figures[name], "training", False):
            kind = "training"
        return TELLING.index(kind) if kind in TELLING else len(TELLING)

    return min(reversed(in_order(figures)), key=rank, default=None)


def runs(results: Results) -> Rows:
    return [
        {**vars(run), "mixtures": run.stage_mixtures or run.mixture}
        | {"scored": "yes" if run.evaluate else "losses only"}
        for run in results.runs
    ]


def intersections(results: Results) -> Rows:
    scale = results.experiment.scale
    pairs = {*results.tokenizer_pairs(), *compared_pairs(results.experiment, results.runs)}
    pairs |= {(scale.source_tokenizer, scale.target_tokenizer)} if scale else set()
    return [
        {**report, "source": source, "target": target}
        for source, target in sorted(pairs)
        if (report := results.json("intersections", f"{source}--{target}", "report.json"))
    ]


def diagnostics(results: Results) -> list[tuple[Run, dict[str, Any]]]:
    """Return what is known of the new rows of each run that has any."""
    read = ((run, results.json("runs", run.id, "init", "diagnostics.json")) for run in results.runs)
    return [(run, described) for run, described in read if described]


def new_rows(results: Results) -> Rows:
    rows = []
    for run, described in diagnostics(results):
        label = f"{results.model_label(run)}, {method_label(run)}"
        matrices = described.get("matrices", {})
        for which, matrix in matrices.items():
            copied, new = matrix["norm_copied"]["mean"], matrix["norm_new"]["mean"]
            title = TITLES[which] if len(matrices) > 1 else "embedding and LM head"
            ratio = new / copied if copied and new is not None else None
            rows.append({**matrix, "run": label, "matrix": title, "ratio": ratio})
    return rows


def scale(results: Results) -> Rows:
    rows: Rows = []
    for row in results.csv("scale", "scale.csv") if results.experiment.scale else []:
        rows.append({**row})
        for name, content in row.items():
            with suppress(ValueError):
                rows[-1][name] = float(content)
    return rows


#: Decimals that are shown of what a clock measured.
CLOCK = {"seconds": 1, "startup_seconds": 1, "tokens_per_second": 0}


def trainings(results: Results) -> Rows:
    """Return what each training took, as far as it was recorded."""
    folders = [("models", model) for model in sorted(results.experiment.models)]
    folders += [("runs", run.id) for run in results.runs if run.trains]
    rows = []
    for parts in folders:
        if timing := results.json(*parts, MEASURED):
            peak = timing.get("peak_memory_bytes")
            row = {"training": parts[1], "peak_memory": peak and round(peak / 1e9, 2)}
            known = [key for key in CLOCK if timing.get(key) is not None]
            row |= {key: round(timing[key], CLOCK[key]) for key in known}
            rows.append({**(results.json(*parts, "manifest.json") or {}), **timing, **row})
    return rows


def versions() -> Iterator[tuple[str, str]]:
    of_engines = [name for engine in engines().values() for name in engine.libraries]
    for name in dict.fromkeys((*LIBRARIES, *of_engines)):
        with suppress(metadata.PackageNotFoundError):
            yield name, metadata.version(name)


def short_texts(results: Results) -> Iterator[str]:
    """Yield which corpora had less text than tokenizers and trainings asked of them."""
    for name in results.experiment.tokenizers:
        manifest = results.json("tokenizers", name, "manifest.json") or {}
        for parts in manifest.values():
            described = [*parts.values()] if isinstance(parts, dict) else [None]
            sized = described and all(isinstance(part, dict) and "of" in part for part in described)
            if sized and (lack := shortage(parts)):
                yield f"Tokenizer {name}: {lack}."
    for path in sorted(results.root.glob("packed/*/manifest.json")):
        for corpus, packed in read_json(path)["corpora"].items():
            if lack := repetition(corpus, packed):
                yield f"Training rows {path.parent.name}: {lack}."


#: What a job wrote at a path; many numbers have the same jobs before them.
find = cache(Marked.find)


def origin(results: Results, file: str) -> dict[str, str]:
    """Return what is known of a file that numbers were read from: its part of the experiment, the
    versions behind it, its job with what that read, and the jobs before it.
    """
    known: dict[str, Any] = {}
    if run := next((run for run in results.runs if file.startswith(f"runs/{run.id}/")), None):
        values = {key: getattr(run, key) for key in SLICE}
        parts = [f"{key} {value}" for key, value in values.items() if value not in (None, {})]
        manifest = results.json("runs", run.id, "manifest.json") or {}
        versions = manifest.get("versions") or {}
        trained = [f"{name} {version}" for name, version in versions.items()]
        known |= {f"run {run.id}": "; ".join(parts), "trained with": ", ".join(trained)}
    rows = [row for row in results.scores.rows if row.get("provenance") == file]
    for name in VERSIONS:
        named = sorted({str(row[name]) for row in rows if row.get(name)})
        known[name.replace("_", " ")] = ", ".join(named)
    if marked := find(results.root / file):
        if not file.startswith("efficiency/"):  # measured anew by each run
            known["sha256"] = next(iter(marked.hashes().values()))
        known |= {"job": marked.job, "to make it again": marked.advice}
        for name, digest in sorted(marked.marker.inputs.items()):
            if Path(name).name != MEASURED:
                known[f"read {name}"] = f"sha256 {digest}"
        known["jobs before it"] = ", ".join(jobs_before(marked, results.root.parent.parent))
    return {name: value for name, value in known.items() if value}


def jobs_before(marked: Marked, home: Path) -> list[str]:
    """Return the jobs whose files a job read, by way of others too, the nearest first."""
    jobs: dict[str, None] = {}
    queue = [marked]
    for current in queue:
        for name in current.marker.inputs:
            maker = find(home / name)
            if maker and maker.job not in jobs:
                jobs[maker.job] = None
                queue.append(maker)
    return list(jobs)


#: Colours of figures on dark paper: paper, grid, ink of axes; all others are lightened, but for
#: the ink of numbers on images, which do not change.
DARK = {"#ffffff": "#171b20", "#e4e4e4": "#333a42", "#666666": "#8b949e", "#444444": "#c3cad1"}
ON_IMAGE = "#010101"


def data_uri(path: Path) -> str | None:
    """Return an SVG file as a data URI, or None if there is none. As an image and not inline: ids
    inside one SVG would clash with those of the next.
    """
    if not path.is_file():
        return None
    svg = with_dark_colours(path.read_text(encoding="utf-8"))
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode("ascii")


def with_dark_colours(svg: str) -> str:
    """Return a figure that follows the reader's colour scheme. A filter of the whole image would
    do without its colours, but exchanges light and dark ones, and so the looks of two methods.
    """
    rules = ["svg{fill:#e3e7eb}"]
    for name, colour in sorted(set(re.findall(r"(fill|stroke): (#[0-9a-f]{6})", svg))):
        if colour != ON_IMAGE:
            dark = DARK.get(colour, f"oklch(from {colour} max(l, .6) c h)")
            which = "path" if colour == "#ffffff" else ""  # and not text on images
            rules.append(f'{which}[style*="{name}: {colour}"]{{{name}:{dark}!important}}')
    style = f"<style>@media (prefers-color-scheme: dark){{{''.join(rules)}}}</style>"
    return svg.replace("<defs>", f"{style}<defs>", 1)
