"""Coloured grids of numbers: similarity between the runs of a group, and the runs of a sweep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any, ClassVar, Literal

from revocab.closed import GroupId
from revocab.report.annotations import Axes, Figure
from revocab.report.drawing import Palette, nothing_yet
from revocab.report.kind import FigureOptions, Place
from revocab.report.results import Results
from revocab.report.runs import RunIndex, method_label
from revocab.report.tables.runs import SweepOptions
from revocab.report.values import HelperSimilarity

#: Below this lightness a colour is dark, so that what stands on it is white.
DARK = 0.5
#: Colours are on a log scale where a number is so many times another.
FACTOR = 2.0


class SimilarityFigure(FigureOptions):
    """Similarity between the runs of a group after training."""

    kind: Literal["similarity"]
    group: GroupId
    small: ClassVar[bool] = True

    def draw(self, results: Results, palette: Palette) -> Figure:
        import numpy as np
        from matplotlib import pyplot

        values = self.similarities(results)
        members = {run for pair in values for run in pair}
        runs = [run for run in results.group(self.group) if run.id in members]
        size = 1.9 + 0.78 * max(len(runs), 3)
        figure, axes = pyplot.subplots(figsize=(size + 0.5, size - 0.4), layout="constrained")
        if not runs:
            nothing_yet(axes)
            return figure
        numbers = np.array([[100 * values.get((a.id, b.id), math.nan) for b in runs] for a in runs])
        texts = [["–" if math.isnan(value) else f"{value:.1f}" for value in row] for row in numbers]
        # The diagonal is 100 by definition and would eat the colour range: it stays grey.
        np.fill_diagonal(numbers, math.nan)
        names = [method_label(run) for run in runs]
        image = draw_grid(axes, numbers, texts, names, names, "cividis")
        axes.tick_params(axis="x", rotation=30)
        axes.set_title(f"Mean cosine × 100 after {runs[0].steps[-1]} steps")
        figure.colorbar(image, ax=axes, shrink=0.8, label="similarity × 100")
        return figure

    def similarities(self, results: Results) -> dict[tuple[str, str], float]:
        """Return the similarity of every pair of runs as they are shown: means over replicates,
        whose similarities to each other are left out.
        """
        group = results.group(self.group)
        run_of = {single.id: run.id for run in group for single in results.replicates(run)}
        by_pair: dict[tuple[str, str], list[float]] = {}
        for row in results.similarities:
            if (row["kind"], row["group"]) == ("between", self.group):
                pair = run_of[row["run"]], run_of[row["other"]]
                if not results.seeded or pair[0] != pair[1]:
                    by_pair.setdefault(pair, []).append(row["similarity"])
        return {pair: fmean(cosines) for pair, cosines in by_pair.items()}

    def places(self, index: RunIndex) -> Iterator[Place]:
        target = index.experiment.runs[self.group].target
        for run in index.group(self.group, evaluated=False):
            if run.learns_rows_of(target):
                yield Place(HelperSimilarity(step="last"), run)


class SweepFigure(SweepOptions, FigureOptions):
    """Two axes of a sweep as a grid."""

    kind: Literal["sweep"]
    small: ClassVar[bool] = True

    def draw(self, results: Results, palette: Palette) -> Figure:
        import numpy as np
        from matplotlib import pyplot

        pivot = self.pivot(results)
        down, across = [row.label for row in pivot.rows], pivot.header[1:]
        cells = pivot.cells(results)
        # None, where no run stands, becomes NaN.
        numbers = np.array([[cell.value for cell in row] for row in cells], dtype=float)
        size = (1.1 * len(across) + 2.6, 0.6 * len(down) + 1.5)
        figure, axes = pyplot.subplots(figsize=size, layout="constrained")
        axes.set(title=self.value.header, xlabel=self.columns, ylabel=self.rows)
        if np.isnan(numbers).all():
            nothing_yet(axes)
            return figure
        goodness = shares(numbers)
        if self.value.value.better == "lower":
            goodness = 1 - goodness
        texts = [
            [cell.number() if cell.text is None else cell.text for cell in row] for row in cells
        ]
        draw_grid(axes, goodness, texts, down, across, "Blues")
        axes.set_aspect("auto")
        return figure


def draw_grid(
    axes: Axes,
    numbers: Any,
    texts: Sequence[Sequence[str]],
    down: Sequence[str],
    across: Sequence[str],
    colours: str,
) -> Any:
    """Draw numbers as colours, NaN in grey, each with its text; return the image."""
    import numpy as np

    image = axes.imshow(numbers, cmap=colours)
    *light, opaque = np.moveaxis(image.to_rgba(numbers), -1, 0)
    dark = (opaque > 0) & (np.tensordot((0.3, 0.59, 0.11), light, 1) < DARK)
    for (row, column), white in np.ndenumerate(dark):
        colour = "white" if white else "#010101"
        axes.text(column, row, texts[row][column], ha="center", va="center", color=colour)
    axes.set_xticks(range(len(across)), across)
    axes.set_yticks(range(len(down)), down)
    axes.set_facecolor("#EEEEEE")
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return image


def shares(numbers: Any) -> Any:
    """Return where numbers lie between the lowest and the highest, 0 to 1; NaN stays."""
    import numpy as np

    low, high = np.nanmin(numbers), np.nanmax(numbers)
    if low > 0 and high > FACTOR * low:
        numbers, low, high = np.log(numbers), np.log(low), np.log(high)
    return (numbers - low) / ((high - low) or 1.0)


FIGURE = (SimilarityFigure, SweepFigure)
