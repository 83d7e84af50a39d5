"""Coloured grids of numbers: similarity between the runs of a group, and the runs of a sweep."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean
from typing import Any, ClassVar, Literal

from revocab.closed import GroupId
from revocab.report.annotations import Experiment, Figure, Layout
from revocab.report.figure_parts.style import Palette, nothing_yet
from revocab.report.kind import FigureOptions, manifest
from revocab.report.names import method_label
from revocab.report.references import no_new_rows
from revocab.report.results import Results
from revocab.report.tables.sweep import SweepOptions


class SimilarityFigure(FigureOptions):
    """Similarity between the runs of a group after training."""

    kind: Literal["similarity"]
    group: GroupId
    small: ClassVar[bool] = True

    def draw(self, results: Results, palette: Palette) -> Figure:
        from matplotlib import pyplot

        values = self.similarities(results)
        members = {run for pair in values for run in pair}
        runs = [run for run in results.group(self.group) if run.id in members]
        size = 1.9 + 0.78 * max(len(runs), 3)
        figure, axes = pyplot.subplots(figsize=(size + 0.5, size - 0.4))
        if not runs:
            nothing_yet(axes)
            return figure
        grid = [[100 * values.get((a.id, b.id), math.nan) for b in runs] for a in runs]
        off = [grid[i][j] for i in range(len(runs)) for j in range(len(runs)) if i != j]
        finite = [value for value in off if not math.isnan(value)] or [0.0]
        low, high = min(finite), max(finite)
        # The diagonal is 100 by definition and would eat the colour range: it stays grey.
        coloured = [
            [math.nan if i == j else value for j, value in enumerate(line)]
            for i, line in enumerate(grid)
        ]
        margin = 0.05 * (high - low or 1)
        axes.set_facecolor("#EEEEEE")
        image = axes.imshow(coloured, cmap="cividis", vmin=low - margin, vmax=high + margin)
        for i, line in enumerate(grid):
            for j, value in enumerate(line):
                dark = i != j and value < low + 0.55 * (high - low)
                content = "–" if math.isnan(value) else f"{value:.1f}"
                axes.text(
                    j, i, content, ha="center", va="center", color="white" if dark else "#010101"
                )
        names = [method_label(run) for run in runs]
        axes.set_xticks(range(len(runs)), names, rotation=30, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(runs)), names)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        last = runs[0].steps[-1]
        axes.set_title(f"Mean cosine × 100 after {last} steps")
        figure.colorbar(image, ax=axes, shrink=0.8, label="similarity × 100")
        figure.tight_layout()
        return figure

    def similarities(self, results: Results) -> dict[tuple[str, str], float]:
        """Return the similarity of every pair of runs as they are shown: means over replicates,
        whose similarities to each other are left out.
        """
        group = results.group(self.group)
        shown = {single.id: run.id for run in group for single in results.replicates(run)}
        by_pair: dict[tuple[str, str], list[float]] = {}
        for row in results.similarities:
            if (row["kind"], row["group"]) == ("between", self.group):
                pair = shown[row["run"]], shown[row["other"]]
                if not results.seeded or pair[0] != pair[1]:
                    by_pair.setdefault(pair, []).append(row["similarity"])
        return {pair: fmean(cosines) for pair, cosines in by_pair.items()}

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        return no_new_rows(experiment, key, self.group)

    def needs(self, layout: Layout) -> list[str]:
        return [manifest(layout.paths.similarity(self.group))]


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

        pivot = self.pivot(results)
        down, across = [row.label for row in pivot.rows], pivot.header[1:]
        cells = pivot.cells(results)
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


FIGURE = (SimilarityFigure, SweepFigure)
