"""One value of the runs of a sweep as a coloured grid of two axes."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

from revocab.report.annotations import Figure
from revocab.report.figure_parts.palette import Palette
from revocab.report.figure_parts.style import nothing_yet
from revocab.report.kind import FigureOptions
from revocab.report.results import Results
from revocab.report.tables.sweep import SweepOptions, values_of

#: Share of the colours above which a number is written in white.
DARK = 0.6
#: Colours are on a log scale where a number is so many times another.
FACTOR = 2.0


class SweepFigure(SweepOptions, FigureOptions):
    """Two axes of a sweep as a grid."""

    kind: Literal["sweep"]
    small: ClassVar[bool] = True

    def draw(self, results: Results, palette: Palette) -> Figure:
        import numpy as np
        from matplotlib import pyplot

        down, across = values_of(self.grid(results.experiment))
        cells = [row.cells[1:] for row in self.rows_shown(results)]
        numbers = np.array(
            [
                [math.nan if cell.value is None else cell.value * cell.scale for cell in row]
                for row in cells
            ]
        )
        value = self.value.value
        figure, axes = pyplot.subplots(
            figsize=(1.1 * len(across) + 2.6, 0.6 * len(down) + 1.5), layout="constrained"
        )
        axes.grid(visible=False)
        axes.set_title(self.value.header)
        axes.set_xlabel(self.columns)
        axes.set_ylabel(self.rows)
        axes.set_xticks(range(len(across)), across)
        axes.set_yticks(range(len(down)), down)
        if np.isnan(numbers).all():
            axes.set_xlim(-0.5, len(across) - 0.5)
            axes.set_ylim(len(down) - 0.5, -0.5)
            nothing_yet(axes)
            return figure
        goodness = shares(numbers)
        if value.better == "lower":
            goodness = 1 - goodness
        axes.imshow(goodness, cmap="Blues", aspect="auto", vmin=0, vmax=1)
        for line, row in enumerate(cells):
            for place, cell in enumerate(row):
                shown = cell.text if cell.text is not None else cell.number()
                colour = "white" if goodness[line][place] > DARK else "#010101"
                axes.text(place, line, shown, ha="center", va="center", color=colour)
        return figure


def shares(numbers: Any) -> Any:
    """Return where numbers lie between the lowest and the highest, 0 to 1; NaN stays."""
    import numpy as np

    low, high = np.nanmin(numbers), np.nanmax(numbers)
    if low > 0 and high > FACTOR * low:
        numbers, low, high = np.log(numbers), np.log(low), np.log(high)
    return (numbers - low) / ((high - low) or 1.0)


FIGURE = SweepFigure
