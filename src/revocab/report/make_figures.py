"""Every configured figure of an experiment, by kind, and its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from revocab.output import OutputFolder
from revocab.report.drawing import Palette, save, style
from revocab.report.kind import FigureOptions
from revocab.report.names import headed
from revocab.report.results import Results
from revocab.report.template import notes

#: How a figure's lower corners are written.
MARK: dict[str, Any] = {"fontsize": 7, "color": "#8A5300"}


def make_figures(root: str | Path, out: str | Path, experiment: str | Path | None = None) -> None:
    """Draw every configured figure into ``out`` as SVG and PNG, the same bytes each time."""
    results = Results(root, experiment)
    palette = Palette([run.name for run in (*results.shown, *results.runs)])
    with OutputFolder(Path(out), "figures", around=[results.root]).replaced() as folder:
        for identifier, options in sorted(results.experiment.figures.items()):
            limited = options.limited(results)
            with style():
                figure = options.draw(results, palette)
                if results.experiment.world:
                    figure.text(0.995, 0.008, "synthetic data", ha="right", **MARK)
                if limited:
                    figure.text(0.005, 0.008, f"limited run: {limited}", ha="left", **MARK)
                save(figure, folder, identifier, headed(identifier, options.title))


def caption(results: Results, options: FigureOptions) -> str:
    """Return the sentences under a figure, but that its data are synthetic."""
    limited = options.limited(results)
    parts = [options.caption, *notes(f"figure_{options.kind}", options, results)]
    return " ".join(filter(None, [*parts, f"Limited run: {limited}." if limited else ""]))
