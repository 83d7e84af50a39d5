"""How every figure looks: fonts, grids, labels, and files that repeat byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from revocab.io import atomic
from revocab.report.annotations import Axes, Figure

SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "revocab",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "legend.frameon": False,
    "lines.linewidth": 1.7,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this block: no display, the settings above and nothing of the user's."""
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("agg")
    with pyplot.style.context(["default", SETTINGS]):
        yield
        pyplot.close("all")


def save(figure: Figure, folder: Path, identifier: str, title: str) -> None:
    empty = {"svg": {"Date": None, "Creator": None, "Title": title}, "png": {"Software": None}}
    for ending, metadata in empty.items():
        with atomic(folder / f"{identifier}.{ending}") as temporary:
            figure.savefig(temporary, format=ending, dpi=160, metadata=metadata)


def readable(colour: str) -> str:
    """Return a hexadecimal colour darkened by a fifth: light ones do for lines, not for text."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part * 0.8):02x}" for part in parts)


def label_ends(axes: Axes, labels: list[tuple[float, str, str]], x: float) -> None:
    """Write (y, text, colour) labels right of ``x``, moved apart just enough not to overlap."""
    if not labels:
        return
    low, high = axes.get_ylim()
    height = axes.get_window_extent().height * 72 / axes.figure.dpi
    gap = (high - low) * 9.5 / height
    ordered = sorted(labels)
    places = [y for y, _, _ in ordered]
    for _ in range(200):
        moved = False
        for i in range(len(places) - 1):
            lack = gap - (places[i + 1] - places[i])
            if lack > gap * 1e-3:
                places[i] -= lack / 2
                places[i + 1] += lack / 2
                moved = True
        if not moved:
            break
    for place, (y, content, colour) in zip(places, ordered, strict=True):
        axes.annotate(
            content,
            xy=(x, y),
            xytext=(8, (place - y) / (high - low) * height),
            textcoords="offset points",
            va="center",
            color=readable(colour),
            fontsize=8,
            annotation_clip=False,
        )


def nothing_yet(axes: Axes, what: str = "no results yet") -> None:
    axes.text(0.5, 0.5, what, transform=axes.transAxes, ha="center", va="center", color="#888888")
