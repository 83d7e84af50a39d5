"""Figures without a time axis: fertility by document (1) and similarity between runs (8)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from revocab.report.names import language_label, method_label
from revocab.report.results import Results, number
from revocab.report.style import LANGUAGE_COLOURS, Palette, nothing_yet, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 60
#: Height of a ridge's highest point; the next ridge stands at 1.
PEAK = 0.7


def fertility_figure(results: Results, entry: dict[str, Any], palette: Palette) -> Figure:
    """Return fertility over documents: a panel per tokenizer, a ridge per corpus, means marked."""
    from matplotlib import pyplot

    setting = results.experiment["fertility"]
    tokenizers, corpora = setting["tokenizers"], setting["corpora"]
    columns = min(2, len(tokenizers)) if len(tokenizers) in (1, 2, 4) else 3
    rows = math.ceil(len(tokenizers) / columns)
    height = 0.9 + rows * (0.75 + 0.62 * len(corpora))
    figure, grid = pyplot.subplots(
        rows,
        columns,
        figsize=(3.1 * columns + 1.1, height),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    values = fertility_values(results)
    means = {
        (row["tokenizer"], row["corpus"]): number(row["fertility"])
        for row in results.csv("fertility", "fertility.csv")
    }
    low, high = span(values)
    panels = [axes for line in grid for axes in line]
    for axes, tokenizer in zip(panels, tokenizers, strict=False):
        axes.set_title(tokenizer)
        for place, corpus in enumerate(reversed(corpora)):
            colour = corpus_colour(results, corpus)
            draw_ridge(axes, values.get((tokenizer, corpus)), place, (low, high), colour)
            mean = means.get((tokenizer, corpus))
            if mean is not None:
                axes.plot([mean, mean], [place, place + PEAK], color=colour, linewidth=1.6)
                axes.annotate(
                    f"{mean:.2f}", (mean, place + PEAK), (0, 2), textcoords="offset points",
                    fontsize=8.5, color=readable(colour), va="bottom", ha="center", weight="bold",
                )  # fmt: skip
        if not values:
            nothing_yet(axes)
        places = [place + 0.3 for place in range(len(corpora))]
        axes.set_yticks(places, corpus_labels(results, corpora))
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.set_ylim(-0.05, len(corpora))
        axes.set_xlim(low, high)
        axes.tick_params(axis="x", labelbottom=True)
    for axes in panels[len(tokenizers) :]:
        axes.set_axis_off()
    figure.supxlabel("tokens per word in a document (bar: mean over documents)", fontsize=9)
    figure.tight_layout()
    return figure


def corpus_labels(results: Results, corpora: list[str]) -> list[str]:
    """Return the corpora from bottom to top, each with its language."""
    entries = results.experiment["corpora"]
    return [f"{one}\n{language_label(entries[one]['language'])}" for one in reversed(corpora)]


def corpus_colour(results: Results, corpus: str) -> str:
    """Return a corpus's colour: blues for Italian, reds for English, as in the paper's Figure 1."""
    language = results.experiment["corpora"][corpus]["language"]
    shades = LANGUAGE_COLOURS.get(language, ("#117733", "#999933", "#44AA99"))
    same = [
        one
        for one in results.experiment["fertility"]["corpora"]
        if results.experiment["corpora"][one]["language"] == language
    ]
    return shades[same.index(corpus) % len(shades)]


def fertility_values(results: Results) -> dict[tuple[str, str], list[float]]:
    """Return fertility by document for every (tokenizer, corpus)."""
    path = results.root / "fertility" / "documents.parquet"
    if not path.is_file():
        return {}
    import pyarrow.parquet as pq

    values: dict[tuple[str, str], list[float]] = {}
    table = pq.read_table(path).to_pydict()
    for tokenizer, corpus, value in zip(
        table["tokenizer"], table["corpus"], table["fertility"], strict=True
    ):
        values.setdefault((tokenizer, corpus), []).append(value)
    return values


def span(values: dict[Any, list[float]]) -> tuple[float, float]:
    """Return the x range: half a per cent of the documents of any series may lie outside it."""
    if not values:
        return 1.0, 3.0
    lows, highs = [], []
    for one in values.values():
        ordered = sorted(one)
        cut = len(ordered) // 200
        lows.append(ordered[cut])
        highs.append(ordered[-1 - cut])
    margin = 0.06 * (max(highs) - min(lows)) or 0.1
    return min(lows) - margin, max(highs) + margin


def draw_ridge(
    axes: Axes, values: list[float] | None, place: float, limits: tuple[float, float], colour: str
) -> None:
    """Draw a smoothed histogram standing on ``place``, its highest point at :data:`PEAK`."""
    if not values:
        return
    import numpy as np

    counts, edges = np.histogram(values, bins=BINS, range=limits)
    kernel = np.exp(-0.5 * (np.arange(-4, 5) / 1.2) ** 2)
    density = np.convolve(counts, kernel / kernel.sum(), mode="same")
    centres = (edges[:-1] + edges[1:]) / 2
    top = place + PEAK * density / max(density.max(), 1e-12)
    axes.fill_between(centres, place, top, color=colour, alpha=0.3, linewidth=0)
    axes.plot(centres, top, color=colour, linewidth=1.1)


def similarity_figure(results: Results, entry: dict[str, Any], palette: Palette) -> Figure:
    """Return similarities between a group's adapted runs after training as a numbered grid."""
    from matplotlib import pyplot

    values = {
        (row["run"], row["other"]): row["similarity"]
        for row in results.similarities
        if row["kind"] == "between" and row["group"] == entry["group"]
    }
    members = {run for pair in values for run in pair}
    runs = [run for run in results.group(entry["group"]) if run.id in members]
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
            axes.text(j, i, content, ha="center", va="center", color="white" if dark else "black")
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
