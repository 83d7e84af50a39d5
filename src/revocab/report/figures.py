"""Every configured figure of an experiment, by kind, and its files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.output import OutputFolder
from revocab.report import notes
from revocab.report.figures_plain import fertility_figure, similarity_figure
from revocab.report.figures_runs import average_score_figure, loss_figure
from revocab.report.figures_tokenizers import token_counts_figure
from revocab.report.names import headed
from revocab.report.results import Results
from revocab.report.style import Palette, save, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    with OutputFolder(Path(out), "figures", around=[results.root]).replaced() as folder:
        for identifier, entry in sorted(results.experiment["figures"].items()):
            with style():
                figure = KINDS[entry["kind"]](results, entry, palette)
                note(figure, results, entry)
                save(figure, folder, identifier, headed(identifier, entry["title"]))


def note(figure: Figure, results: Results, entry: dict[str, Any]) -> None:
    """Write below a figure that its data are synthetic, or only a part."""
    if results.experiment.get("world"):
        figure.text(0.995, 0.008, "synthetic data", ha="right", fontsize=7, color="#8A5300")
    limited = notes.limited(results, entry)
    if limited:
        figure.text(0.005, 0.008, limited, ha="left", fontsize=7, color="#8A5300")
