"""Sections of the page and of exported results that no experiment configures: header and rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revocab.config.lineage import compared_pairs
from revocab.initialise.diagnostics import TITLES
from revocab.languages import language_label
from revocab.report.names import method_label
from revocab.report.results import Results, blind_baselines
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.table_parts.table import MISSING

#: Header and rows of plain text.
Grid = tuple[list[str], list[list[str]]]

NEW_ROWS_HEADER = [
    "Run", "Matrix", "Copied rows", "New rows", "Norm copied", "Norm new", "New / copied",
    "Cosine to mean, copied", "Cosine to mean, new", "Near duplicates", "Cosine on anchors",
    "Cosine on held-out anchors",
]  # fmt: skip
NEW_ROWS_NOTE = (
    "L2 norms are means over rows. Cosine to mean: 1 when all rows of a kind point the same way. "
    "Near duplicates: new rows with a cosine of at least 0.99 to another row. Cosines on anchors: "
    "for methods that fit a map, between mapped and true rows, on shared tokens that the map was "
    "fitted on and on shared tokens that it was not. Each run's init folder holds a figure, "
    "diagnostics.svg."
)


@dataclass(frozen=True)
class Section:
    """A section of the page: its anchor, title, a note under its rows, and warnings under that.

    ``texts`` counts the columns at the left that hold text and not numbers.
    """

    id: str
    title: str
    note: str
    header: list[str]
    rows: list[list[str]]
    warnings: list[str] = field(default_factory=list)
    texts: int = 1


def sections(results: Results, resources: Path) -> list[Section]:
    """Return the sections that have rows, in the order of the page.

    ``resources`` is where the experiment's corpora and world lie.
    """
    possible = [
        Section(
            "heldout",
            "Held-out text",
            "Bits per byte of held-out text; lower is better.",
            *heldout(results),
            texts=2,
        ),
        Section(
            "vocabularies",
            "Vocabulary intersections",
            "Tokens that two vocabularies share: as compared here, by what they stand for "
            "(bytes), and as the SAVA release compares spellings (marker).",
            *intersections(results),
            texts=2,
        ),
        Section(
            "initialisation",
            "New rows",
            NEW_ROWS_NOTE,
            *new_rows(results),
            warnings(results),
            texts=2,
        ),
        Section(
            "scale",
            "Initialisation at full size",
            "Each method on a matrix of a real model's shape with random values.",
            *scale(results),
        ),
        Section(
            "blind-baselines",
            "Blind baselines",
            "Accuracy in per cent, on items made here, of guesses that see only the length or"
            " the position of choices; expected near chance.",
            *blind_baselines.table(resources),
        ),
        Section(
            "timings",
            "Training and its cost",
            "Tokens seen, time and memory of every training on the machine that made this report.",
            *trainings(results),
        ),
    ]
    return [section for section in possible if section.rows]


def heldout(results: Results) -> Grid:
    languages = results.heldout_languages()
    header = ["Group", "Run"]
    for language in languages:
        name = language_label(language)
        header += [f"{name}, step 0", f"{name}, first checkpoint", f"{name}, last checkpoint"]
    rows = []
    for run in results.runs:
        cells: list[str] = []
        for language in languages:
            values = heldout_curve(results, run, language)
            steps = list(dict.fromkeys([0, run.select()[0], run.steps[-1]]))
            shown = [f"{values[step]:.4f}" if step in values else MISSING for step in steps]
            cells += shown + [MISSING] * (3 - len(shown))
        label = results.model_label(run)
        rows.append([label, "base model" if run.base else method_label(run), *cells])
    return header, rows


def trainings(results: Results) -> Grid:
    header = ["Training", "Steps", "Tokens", "Seconds", "Tokens per second", "Peak memory (GB)"]
    header.append("Start-up (s)")
    folders = [("models", model) for model in sorted(results.experiment.models)]
    folders += [("runs", run.id) for run in results.runs if run.trains]
    rows = []
    for parts in folders:
        timing = results.json(*parts, "timing.json")
        manifest = results.json(*parts, "manifest.json") or {}
        if not timing:
            continue
        shown = [shown_number(manifest.get(key)) for key in ("steps", "tokens")]
        shown.append(shown_number(timing.get("seconds"), ",.1f"))
        shown.append(shown_number(timing.get("tokens_per_second")))
        shown.append(shown_number(timing.get("peak_memory_bytes"), ",.2f", 1e-9))
        shown.append(shown_number(timing.get("startup_seconds"), ",.1f"))
        rows.append([parts[1], *shown])
    return header, rows


def shown_number(value: Any, form: str = ",.0f", scale: float = 1) -> str:
    return f"{value * scale:{form}}" if isinstance(value, int | float) else MISSING


def intersections(results: Results) -> Grid:
    header = ["Source", "Target", "Source size", "Target size", "Overlap", "Missing"]
    header += ["By bytes", "By marker", "Equal strings", "Identity"]
    setting = results.experiment.scale
    at_scale = [(setting.source_tokenizer, setting.target_tokenizer)] if setting else []
    compared = compared_pairs(results.experiment, results.runs)
    wanted = {*results.tokenizer_pairs(), *compared, *at_scale}
    rows = []
    for path in sorted(results.root.glob("intersections/*/report.json")):
        source, _, target = path.parent.name.partition("--")
        if (source, target) not in wanted:
            continue  # of a pair that the experiment no longer names
        report = results.json(*path.relative_to(results.root).parts)
        by = report.get("shared_by", {})
        counts = [report.get(key) for key in ("source_size", "target_size", "overlap", "missing")]
        counts += [by.get("bytes"), by.get("marker"), report.get("raw_overlap")]
        shown = [shown_number(count) for count in counts]
        rows.append([source, target, *shown, str(report.get("identity", MISSING))])
    return header, rows


def scale(results: Results) -> Grid:
    rows = results.csv("scale", "scale.csv") if results.experiment.scale else []
    if not rows:
        return [], []
    return list(rows[0]), [[compact(value) for value in row.values()] for row in rows]


def compact(value: str) -> str:
    """Return a CSV cell shortened for reading: four significant digits, big counts separated."""
    try:
        real = float(value)
    except ValueError:
        return value
    if real.is_integer():
        return f"{int(real):,}"
    return f"{real:.4g}"


def _row(name: str, matrix: str, statistics: dict[str, Any]) -> list[str]:
    copied, new, noted = statistics["norm_copied"], statistics["norm_new"], statistics["method"]
    both = copied["mean"] and new["mean"] is not None
    return [
        name,
        matrix,
        f"{copied['rows']:,}",
        f"{new['rows']:,}",
        shown_number(copied["mean"], ".4g"),
        shown_number(new["mean"], ".4g"),
        shown_number(new["mean"] / copied["mean"], ".3g") if both else MISSING,
        shown_number(statistics["cosine_to_mean_copied"], ".3g"),
        shown_number(statistics["cosine_to_mean_new"], ".3g"),
        shown_number(statistics.get("near_duplicates", {}).get("rows")),
        shown_number(noted.get("anchors_cosine"), ".3g"),
        shown_number(noted.get("held_out_cosine"), ".3g"),
    ]


def new_rows(results: Results) -> Grid:
    rows = []
    for run in results.runs:
        described = results.json("runs", run.id, "init", "diagnostics.json") or {}
        matrices = described.get("matrices", {})
        label = results.model_label(run)
        for which, statistics in matrices.items():
            matrix = TITLES[which] if len(matrices) > 1 else "embedding and LM head"
            rows.append(_row(f"{label}, {method_label(run)}", matrix, statistics))
    return NEW_ROWS_HEADER, rows


def warnings(results: Results) -> list[str]:
    lines = []
    for run in results.runs:
        described = results.json("runs", run.id, "init", "diagnostics.json") or {}
        lines += [f"{run.id}: {warning}" for warning in described.get("warnings", [])]
    return lines
