"""How every figure looks: one colour and dash per method name, and files that repeat byte for byte.

Colours are Okabe and Ito's and Tol's, which readers with colour-blindness can tell apart; dashes
and direct labels say the same once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.io import atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "base": "#444444",
    "random": "#E69F00",
    "fvt": "#56B4E9",
    "clp": "#CC79A7",
    "sava": "#0072B2",
    "sava-lstsq": "#009E73",
    "lapt": "#D55E00",
}
#: For names that have no colour of their own, in the order of the experiment's runs.
MORE_COLOURS = ("#882255", "#999933", "#332288", "#44AA99", "#AA4499", "#117733", "#DDAA33")
DASHES = {"base": (0, (5, 3)), "lapt": (0, (4, 1.5, 1, 1.5)), "random": (0, (1.5, 1))}
LANGUAGE_COLOURS = {
    "it": ("#0072B2", "#56B4E9", "#332288"),
    "en": ("#D55E00", "#E69F00", "#882255"),
}

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
    """Write a figure as SVG and PNG without dates or versions inside."""
    empty = {"svg": {"Date": None, "Creator": None, "Title": title}, "png": {"Software": None}}
    for ending, metadata in empty.items():
        with atomic(folder / f"{identifier}.{ending}") as temporary:
            figure.savefig(temporary, format=ending, dpi=160, metadata=metadata)


class Palette:
    """Colours of run names: the same name has the same colour in every figure of an experiment."""

    def __init__(self, names: list[str]):
        others = [name for name in dict.fromkeys(names) if name not in COLOURS]
        more = {name: MORE_COLOURS[i % len(MORE_COLOURS)] for i, name in enumerate(others)}
        self._colours = {**COLOURS, **more}

    def line(self, name: str) -> dict[str, Any]:
        """Return the keywords that draw a run's line."""
        return {"color": self._colours[name], "linestyle": DASHES.get(name, "solid")}


def readable(colour: str) -> str:
    """Return a hexadecimal colour darkened by a fifth: light ones are lines, but not letters."""
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
    """Say in an empty panel that there is nothing to draw."""
    axes.text(0.5, 0.5, what, transform=axes.transAxes, ha="center", va="center", color="#888888")
