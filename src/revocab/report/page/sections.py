"""Tables of the page that no experiment configures: a header, and rows of texts and raw numbers."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from revocab.config.lineage import compared_pairs
from revocab.initialise.diagnostics import TITLES
from revocab.languages import language_label
from revocab.report.names import method_label
from revocab.report.results import Results, blind_baselines
from revocab.report.results.heldout_losses import heldout_curve

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
        "blind-baselines": blind_baselines.table(resources),
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
