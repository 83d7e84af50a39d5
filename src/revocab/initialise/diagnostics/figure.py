"""Draw ``diagnostics.json``: norms and directions of new rows beside copied ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.report.figure_parts.style import save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = "diagnostics"
COLOURS = {"copied": "#666666", "new": "#0072B2"}
PANELS = {"norm": "L2 norm of a row", "cosine_to_mean": "cosine of a row to the mean of its kind"}
TITLES = {"input": "embedding", "output": "LM head"}


def _panel(axes: Axes, histogram: dict[str, list[float]], label: str) -> None:
    edges = histogram["edges"]
    for kind, colour in COLOURS.items():
        counts = histogram[kind]
        total = sum(counts)
        if total:
            shares = [count / total for count in counts]
            axes.stairs(shares, edges, fill=True, color=colour, alpha=0.25)
            axes.stairs(shares, edges, color=colour, linewidth=1.3, label=f"{kind} ({total:,})")
    if histogram["log"]:
        axes.set_xscale("log")
    axes.set_xlabel(label)
    axes.set_yticks([])
    axes.set_ylim(bottom=0)


def draw(described: dict[str, Any], out: Path) -> None:
    """Write ``diagnostics.svg`` and ``diagnostics.png`` into ``out``; same bytes each time.

    ``described`` is the content of ``diagnostics.json``. Without matrices nothing is written.
    """
    matrices = described["matrices"]
    if not matrices:
        return
    with style():
        from matplotlib import pyplot

        figure, grid = pyplot.subplots(
            len(matrices), len(PANELS), figsize=(8.4, 0.6 + 1.9 * len(matrices)), squeeze=False
        )
        for line, (which, statistics) in zip(grid, matrices.items(), strict=True):
            for axes, (key, label) in zip(line, PANELS.items(), strict=True):
                _panel(axes, statistics["histograms"][key], label)
            name = TITLES[which] if len(matrices) > 1 else "embedding and LM head"
            line[0].set_title(f"{described['method']}: {name}")
            line[0].set_ylabel("share of rows")
            handles, labels = line[0].get_legend_handles_labels()
            line[1].legend(handles, labels, loc="upper right", fontsize=8)
        figure.tight_layout()
        save(figure, out, NAME, f"Rows of the adapted model, {described['method']}")
