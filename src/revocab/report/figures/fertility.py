"""Figure 1: fertility over documents, a panel per tokenizer and a ridge per corpus."""

from __future__ import annotations

import math
from typing import Any, Literal

from revocab.io import read_parquet
from revocab.languages import language_colours, language_label
from revocab.report.annotations import Axes, Figure
from revocab.report.figure_parts.palette import Palette
from revocab.report.figure_parts.style import nothing_yet, readable
from revocab.report.kind import FigureOptions, TokenizerOptions
from revocab.report.results import Results, number

BINS = 60
#: Height of a ridge's highest point; the next ridge stands at 1.
PEAK = 0.7
#: Colours of corpora in a language that has none of its own.
OTHER_LANGUAGES = ("#117733", "#999933", "#44AA99")


class FertilityFigure(TokenizerOptions, FigureOptions):
    """Distribution of fertility over documents."""

    kind: Literal["fertility"]

    def draw(self, results: Results, palette: Palette) -> Figure:
        from matplotlib import pyplot

        setting = results.experiment.fertility
        tokenizers, corpora = setting.tokenizers, setting.corpora
        columns = min(2, len(tokenizers)) if len(tokenizers) in (1, 2, 4) else 3
        rows = math.ceil(len(tokenizers) / columns)
        height = 0.9 + rows * (0.75 + 0.62 * len(corpora))
        size = (3.1 * columns + 1.1, height)
        figure, grid = pyplot.subplots(
            rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False
        )
        values = fertility_values(results)
        measured = results.measured_tokenizers
        means = {place: number(row["fertility"]) for place, row in measured.items()}
        low, high = span(values)
        entries = results.experiment.corpora
        labels = [f"{name}\n{language_label(entries[name].language)}" for name in corpora]
        panels = [axes for line in grid for axes in line]
        for axes, tokenizer in zip(panels, tokenizers, strict=False):
            axes.set_title(tokenizer)
            for place, corpus in enumerate(reversed(corpora)):
                colour, series = corpus_colour(results, corpus), (tokenizer, corpus)
                draw_ridge(axes, values.get(series), place, (low, high), colour)
                draw_mean(axes, means.get(series), place, colour)
            if not values:
                nothing_yet(axes)
            places = [place + 0.3 for place in range(len(corpora))]
            axes.set_yticks(places, [*reversed(labels)])
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


def draw_mean(axes: Axes, mean: float | None, place: float, colour: str) -> None:
    if mean is None:
        return
    axes.plot([mean, mean], [place, place + PEAK], color=colour, linewidth=1.6)
    axes.annotate(
        f"{mean:.2f}", (mean, place + PEAK), (0, 2), textcoords="offset points",
        fontsize=8.5, color=readable(colour), va="bottom", ha="center", weight="bold",
    )  # fmt: skip


def corpus_colour(results: Results, corpus: str) -> str:
    """Return a corpus's colour: blues for Italian, reds for English, as in the paper's Figure 1."""
    entries = results.experiment.corpora
    language = entries[corpus].language
    shades = language_colours(language) or OTHER_LANGUAGES
    measured = results.experiment.fertility.corpora
    same = [other for other in measured if entries[other].language == language]
    return shades[same.index(corpus) % len(shades)]


def fertility_values(results: Results) -> dict[tuple[str, str], list[float]]:
    path = results.root / "fertility" / "documents.parquet"
    if not path.is_file():
        return {}
    values: dict[tuple[str, str], list[float]] = {}
    table = read_parquet(path, ("tokenizer", "corpus", "fertility")).to_pydict()
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
    for series in values.values():
        ordered = sorted(series)
        cut = len(ordered) // 200
        lows.append(ordered[cut])
        highs.append(ordered[-1 - cut])
    margin = 0.06 * (max(highs) - min(lows)) or 0.1
    return min(lows) - margin, max(highs) + margin


def draw_ridge(
    axes: Axes, values: list[float] | None, place: float, limits: tuple[float, float], colour: str
) -> None:
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


FIGURE = FertilityFigure
