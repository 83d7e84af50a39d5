"""Every configured figure of an experiment, by kind, and its files."""

from __future__ import annotations

from pathlib import Path

from revocab.report import notes
from revocab.report.figures_plain import fertility_figure, similarity_figure
from revocab.report.figures_runs import average_score_figure, loss_figure
from revocab.report.figures_tokenizers import token_counts_figure
from revocab.report.names import headed
from revocab.report.results import Results
from revocab.report.style import Palette, save, style

KINDS = {
    "fertility": fertility_figure,
    "token_counts": token_counts_figure,
    "average_score": average_score_figure,
    "loss": loss_figure,
    "similarity": similarity_figure,
}
ENDINGS = ("svg", "png")


def make_figures(root: str | Path, out: str | Path, experiment: str | Path | None = None) -> None:
    """Draw every configured figure into ``out`` as SVG and PNG, the same bytes each time."""
    results = Results(root, experiment)
    palette = Palette([run.name for run in results.runs])
    for identifier, entry in sorted(results.experiment["figures"].items()):
        with style():
            figure = KINDS[entry["kind"]](results, entry, palette)
            if results.experiment.get("world"):
                figure.text(0.995, 0.008, "synthetic data", ha="right", fontsize=7, color="#8A5300")
            limited = notes.limited(results, entry)
            if limited:
                figure.text(0.005, 0.008, limited, ha="left", fontsize=7, color="#8A5300")
            save(figure, Path(out), identifier, headed(identifier, entry["title"]))
