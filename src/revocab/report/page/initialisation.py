"""How the rows of every run's new vocabulary look, from ``runs/<run>/init/diagnostics.json``."""

from __future__ import annotations

from typing import Any

from revocab.report.names import method_label
from revocab.report.results import Results

MATRICES = {"input": "embedding", "output": "LM head"}
HEADER = [
    "Run", "Matrix", "Copied rows", "New rows", "Norm copied", "Norm new", "New / copied",
    "Cosine to mean, copied", "Cosine to mean, new", "Near duplicates", "Cosine on anchors",
    "Cosine on held-out anchors",
]  # fmt: skip
NOTE = (
    "L2 norms are means over rows. Cosine to mean: 1 when all rows of a kind point the same way. "
    "Near duplicates: new rows with a cosine of at least 0.99 to another row. Cosines on anchors: "
    "for methods that fit a map, between mapped and true rows, on shared tokens that the map was "
    "fitted on and on shared tokens that it was not. Each run's init folder holds a figure, "
    "diagnostics.svg."
)


def _shown(value: Any, digits: int = 4) -> str:
    return f"{value:.{digits}g}" if isinstance(value, int | float) else "–"


def _row(name: str, matrix: str, found: dict[str, Any]) -> list[str]:
    copied, new, noted = found["norm_copied"], found["norm_new"], found["method"]
    both = copied["mean"] and new["mean"] is not None
    alike = found.get("near_duplicates", {}).get("rows")
    return [
        name,
        matrix,
        f"{copied['rows']:,}",
        f"{new['rows']:,}",
        _shown(copied["mean"]),
        _shown(new["mean"]),
        _shown(new["mean"] / copied["mean"], 3) if both else "–",
        _shown(found["cosine_to_mean_copied"], 3),
        _shown(found["cosine_to_mean_new"], 3),
        "–" if alike is None else f"{alike:,}",
        _shown(noted.get("anchors_cosine"), 3),
        _shown(noted.get("held_out_cosine"), 3),
    ]


def table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return header and rows: one for each matrix of each run that has a new vocabulary."""
    rows = []
    for run in results.runs:
        described = results.json("runs", run.id, "init", "diagnostics.json") or {}
        matrices = described.get("matrices", {})
        label = results.model_label(run)
        for which, found in matrices.items():
            matrix = MATRICES[which] if len(matrices) > 1 else "embedding and LM head"
            rows.append(_row(f"{label}, {method_label(run)}", matrix, found))
    return HEADER, rows


def warnings(results: Results) -> list[str]:
    return [
        f"{run.id}: {warning}"
        for run in results.runs
        for warning in (results.json("runs", run.id, "init", "diagnostics.json") or {}).get(
            "warnings", []
        )
    ]
