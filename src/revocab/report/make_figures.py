"""Every configured figure of an experiment, by kind, and its files."""

from __future__ import annotations

from pathlib import Path

from revocab.report import notes
from revocab.report.kind import KindOptions, figure_kinds
from revocab.report.names import headed
from revocab.report.palette import Palette
from revocab.report.results import Results
from revocab.report.style import save, style

#: Colour of what is written into a figure's lower corners.
MARK = "#8A5300"


def make_figures(root: str | Path, out: str | Path, experiment: str | Path | None = None) -> None:
    """Draw every configured figure into ``out`` as SVG and PNG, the same bytes each time."""
    results = Results(root, experiment)
    palette = Palette([run.name for run in results.runs])
    for identifier, options in sorted(results.experiment.figures.items()):
        kind = figure_kinds()[options.kind]
        with style():
            figure = kind.draw(results, options, palette)
            if results.experiment.world:
                figure.text(0.995, 0.008, "synthetic data", ha="right", fontsize=7, color=MARK)
            limited = notes.limited_run(kind, results, options)
            if limited:
                figure.text(0.005, 0.008, limited, ha="left", fontsize=7, color=MARK)
            save(figure, Path(out), identifier, headed(identifier, options.title))


def caption(results: Results, options: KindOptions) -> str:
    """Return the sentences under a figure."""
    kind = figure_kinds()[options.kind]
    published = [kind.caption_published] if results.paper and kind.caption_published else []
    limited = notes.limited_run(kind, results, options)
    marks = [f"{limited[0].upper()}{limited[1:]}."] if limited else []
    return " ".join([kind.caption, *published, *marks, *notes.synthetic(results)])
