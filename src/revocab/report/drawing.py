"""What figures share: their style, colours of runs, panels, curves over seeds, labels at the ends
of lines, and files that repeat byte for byte.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

from revocab.initialise.method import methods
from revocab.io import atomic
from revocab.report.annotations import Axes, Figure

STYLE = Path(__file__).with_name("figures.mplstyle")
#: Points between two labels at the ends of lines.
LABEL_GAP = 9.5
#: Height, text and colour of a label at the right of a panel.
Label = tuple[float, str, str]
#: Of a curve: place on the horizontal axis, mean over seeds, and standard deviation, which a single
#: seed does not have.
Point = tuple[float, float, float | None]
#: Inches at the left of a panel, above it and below it, and below all for marks.
SIDE, ABOVE, BELOW, MARK = 0.68, 0.34, 0.52, 0.12
#: How many times its own range from a panel's data a level is drawn, and the least such distance
#: (of logarithms).
FAR, SLIGHT = 1.0, 0.2


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this block: no display, the project's style and nothing of the user's."""
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("agg")
    with pyplot.style.context(["default", STYLE]):
        yield
        pyplot.close("all")


def save(figure: Figure, folder: Path, identifier: str, title: str) -> None:
    empty = {"svg": {"Date": None, "Creator": None, "Title": title}, "png": {"Software": None}}
    for ending, metadata in empty.items():
        with atomic(folder / f"{identifier}.{ending}") as temporary:
            figure.savefig(temporary, format=ending, dpi=160, metadata=metadata)


def darker(colour: str) -> str:
    """Return a hexadecimal colour darkened by a fifth: light ones do for lines, not for text."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part * 0.8):02x}" for part in parts)


def nothing_yet(axes: Axes) -> None:
    """Say so in a panel, without the numbers of an axis that shows none."""
    axes.set(xticks=[], yticks=[])
    label = "no results yet"
    axes.text(0.5, 0.5, label, transform=axes.transAxes, ha="center", va="center", color="#888888")


def label_width(names: Iterable[str]) -> float:
    """Return the inches that the longest of some labels needs at the right of a panel."""
    return 0.3 + 0.062 * max(map(len, names), default=0)


def panels(
    rows: int, columns: int, labels: Sequence[str], plot: tuple[float, float] = (3.3, 2.35)
) -> tuple[Figure, Any]:
    """Return a grid of panels of a size (``plot``, in inches), each with room for labels at the
    right ends of its lines; higher where there are too many for it.
    """
    from matplotlib import pyplot

    across, down = plot[0], max(plot[1], len(labels) * LABEL_GAP / 72)
    right = label_width(labels)
    width = columns * (SIDE + across + right)
    height = rows * (ABOVE + down + BELOW) + MARK
    room = {
        "left": SIDE / width, "right": 1 - right / width, "wspace": (SIDE + right) / across,
        "top": 1 - ABOVE / height, "bottom": (BELOW + MARK) / height,
        "hspace": (ABOVE + BELOW) / down,
    }  # fmt: skip
    return pyplot.subplots(rows, columns, figsize=(width, height), squeeze=False, gridspec_kw=room)


def draw_curve(axes: Axes, points: Sequence[Point], line: dict[str, Any], **more: Any) -> None:
    """Draw means over seeds with a band of one standard deviation to both sides, which a single
    seed does not have; ``more`` are errors of the means (``yerr``) and other marks.
    """
    if not points:
        return
    places, means, deviations = zip(*points, strict=True)
    axes.errorbar(places, means, elinewidth=1.0, capsize=0, **more, **line)
    if None not in deviations:
        # A loss is above 0: a wider band would end where a logarithmic axis has no place.
        pairs = [*zip(means, deviations, strict=True)]
        below = [mean - wide if mean > wide else min(means) for mean, wide in pairs]
        above = [mean + wide for mean, wide in pairs]
        axes.fill_between(places, below, above, color=line["color"], alpha=0.15, linewidth=0)


def draw_level(axes: Axes, level: float, name: str, line: dict[str, Any]) -> Label:
    """Draw a level beside what a panel has, and return its label; one so far from it that it would
    press it together is named with its value at the edge instead.
    """
    low, high = axes.dataLim.intervaly
    if axes.has_data() and min(low, level) > 0:
        away = max(math.log(low / level), math.log(level / high))
        if away > max(FAR * math.log(high / low), SLIGHT):
            arrow = "↓" if level < low else "↑"
            return level, f"{name}\n{level:.3g} {arrow}", line["color"]
    axes.axhline(level, **line)
    return level, name, line["color"]


def label_ends(axes: Axes, labels: list[Label]) -> None:
    """Write (y, text, colour) labels at the right of a panel, moved apart just enough not to
    overlap; a thin line leads to one that was moved. The panel's limits must be final; a label
    outside stands at the nearer of them.
    """
    low, high = sorted(axes.get_ylim())
    ordered = sorted((min(max(y, low), high), name, colour) for y, name, colour in labels)
    right, to_points = axes.get_xlim()[1], 72 / axes.figure.dpi
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
            color=darker(colour),
            fontsize=8,
            annotation_clip=False,
            arrowprops={**leader, "relpos": (0, 0.5)} if abs(place - end) > 1 else None,
        )


def spread(ends: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return ascending places moved apart to at least ``gaps``, as near as can be to where they
    were (by least squares).
    """
    import numpy as np
    from scipy.optimize import isotonic_regression

    if not ends:
        return []
    offsets = np.cumsum([0, *gaps])
    return (isotonic_regression(np.subtract(ends, offsets)).x + offsets).tolist()


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
        self._own = own = own_colours()
        others = [name for name in dict.fromkeys(names) if name not in own]
        free = [colour for name, colour in reversed(own.items()) if name not in names]
        colours = SPARE_COLOURS if len(free) <= len(own) / 2 else (*free, *SPARE_COLOURS)
        # The same look comes again only after all colours with all dashes.
        looks = zip(cycle(SPARE_DASHES), cycle(colours), strict=False)
        self._spare = dict(zip(others, looks, strict=False))

    def line(self, name: str) -> dict[str, Any]:
        method = methods().get(name)
        dash, colour = self._spare.get(name) or ("solid", self._own[name])
        return {"color": colour, "linestyle": (method and method.dash) or dash}
