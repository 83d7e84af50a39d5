"""How every figure looks: fonts, grids, labels, and files that repeat byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

from revocab.initialise.method import methods
from revocab.io import atomic
from revocab.report.annotations import Axes, Figure

#: Points between two labels at the ends of lines.
LABEL_GAP = 9.5
#: Height, text and colour of a label at the right of a panel.
Label = tuple[float, str, str]
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
    "lines.linewidth": 2.0,
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


def label_width(names: Iterable[str]) -> float:
    """Return the inches that the longest of some labels needs at the right of a panel."""
    return 0.3 + 0.062 * max(map(len, names), default=0)


def label_ends(axes: Axes, labels: list[Label]) -> None:
    """Write (y, text, colour) labels at the right of a panel, moved apart just enough not to
    overlap; a thin line leads to one that was moved. The panel's limits must be final; a label
    outside stands at the nearer of them.
    """
    low, high = sorted(axes.get_ylim())
    ordered = sorted((min(max(y, low), high), name, colour) for y, name, colour in labels)
    to_points = 72 / axes.figure.dpi
    right = axes.get_xlim()[1]
    ends = [axes.transData.transform((right, y))[1] * to_points for y, _, _ in ordered]
    lines = [1 + content.count("\n") for _, content, _ in ordered]
    gaps = [LABEL_GAP * (below + above) / 2 for below, above in pairwise(lines)]
    for end, place, (y, content, colour) in zip(ends, spread(ends, gaps), ordered, strict=True):
        leader = {"arrowstyle": "-", "linewidth": 0.6, "color": colour, "shrinkA": 0, "shrinkB": 0}
        axes.annotate(
            content,
            xy=(right, y),
            xytext=(12, place - end),
            textcoords="offset points",
            va="center",
            color=readable(colour),
            fontsize=8,
            annotation_clip=False,
            arrowprops={**leader, "relpos": (0, 0.5)} if abs(place - end) > 1 else None,
        )


def spread(ends: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return ascending places moved apart to at least ``gaps``, around where they were."""
    places = list(ends)
    for _ in range(400):
        lacks = [
            gap - (high - low) for gap, (low, high) in zip(gaps, pairwise(places), strict=True)
        ]
        if all(lack <= gap * 1e-3 for lack, gap in zip(lacks, gaps, strict=True)):
            break
        for i, lack in enumerate(lacks):
            if lack > 0:
                places[i] -= lack / 2
                places[i + 1] += lack / 2
    return places


def nothing_yet(axes: Axes) -> None:
    """Say so in a panel, without the numbers of an axis that shows none."""
    axes.set_xticks([])
    axes.set_yticks([])
    label = "no results yet"
    axes.text(0.5, 0.5, label, transform=axes.transAxes, ha="center", va="center", color="#888888")


#: Methods have Okabe and Ito's colours and Tol's, for readers with colour-blindness. These are
#: for names that have no colour of their own, in the order of the experiment's runs: of a grid over
#: sRGB, those farthest from each other and from the methods' own. Those of methods come before them
#: where the experiment has few of these.
SPARE_COLOURS = ("#0000BB", "#00CC33", "#8877FF", "#882277", "#6600FF", "#440066", "#99CC99")
#: No spare colour is drawn as a solid line, which the methods' own are.
SPARE_DASHES = ((0, (6, 2)), (0, (3, 2)), (0, (6, 2, 1, 2)), (0, (6, 2, 1, 2, 1, 2)))


def own_colours() -> dict[str, str]:
    colours = {}
    for name, method in methods().items():
        if method.colour:
            colours[name] = method.colour
        for variant, colour in method.variant_colours.items():
            colours[f"{name}-{variant}"] = colour
    return colours


class Palette:
    """Colours of run names: the same name has the same colour in every figure of an experiment."""

    def __init__(self, names: list[str]):
        own = own_colours()
        others = [name for name in dict.fromkeys(names) if name not in own]
        free = [colour for name, colour in reversed(own.items()) if name not in names]
        colours = SPARE_COLOURS if len(free) <= len(own) / 2 else (*free, *SPARE_COLOURS)
        # The same look comes again only after all colours with all dashes.
        looks = zip(cycle(SPARE_DASHES), cycle(colours), strict=False)
        self._spare = dict(zip(others, looks, strict=False))
        self._own = own

    def line(self, name: str) -> dict[str, Any]:
        method = methods().get(name)
        dash, colour = self._spare.get(name) or ("solid", self._own[name])
        return {"color": colour, "linestyle": (method and method.dash) or dash}
