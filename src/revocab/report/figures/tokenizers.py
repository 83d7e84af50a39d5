"""Figures of tokenizers: fertility over documents, and counts of tokens."""

from __future__ import annotations

import math
from collections import Counter
from itertools import cycle
from typing import Any, Literal

from pydantic import Field

from revocab.closed import MeasuredCorpusId, MeasuredTokenizerId
from revocab.io import read_parquet
from revocab.languages import language_colours, language_label
from revocab.report.annotations import Axes, Figure
from revocab.report.drawing import SPARE_COLOURS, Palette, darker, nothing_yet
from revocab.report.figures.bars import Bar, draw_bars
from revocab.report.kind import FigureOptions, ParallelOptions, TokenizerOptions
from revocab.report.results import Results, number

BINS = 60
#: Height of a curve's highest point; the next corpus stands at 1.
PEAK = 0.7
#: Blue and red, in the order of the corpora of one panel, as in SAVA's Figure 1.
COLOURS = ("#0072B2", "#C1272D", *SPARE_COLOURS)
#: Characters that fit above a panel, and those that a legend's patch and space take.
LEGEND, PATCH = 75, 6


class FertilityFigure(TokenizerOptions, FigureOptions):
    """Distribution of fertility over documents, a panel for each tokenizer."""

    kind: Literal["fertility"]
    tokenizers: list[MeasuredTokenizerId] | None = Field(
        default=None, min_length=1, description="default: all that are measured"
    )
    corpora: list[MeasuredCorpusId] | None = Field(
        default=None, min_length=1, description="default: all that are measured"
    )
    overlaid: bool = Field(
        default=False, description="draw corpora over each other, instead of one above another"
    )

    def draw(self, results: Results, palette: Palette) -> Figure:
        from matplotlib import pyplot
        from matplotlib.patches import Patch

        setting = results.experiment.fertility
        tokenizers = self.tokenizers or setting.tokenizers
        corpora = self.corpora or setting.corpora
        columns = min(2, len(tokenizers)) if len(tokenizers) in (1, 2, 4) else 3
        rows, levels = math.ceil(len(tokenizers) / columns), 1 if self.overlaid else len(corpora)
        size = (3.1 * columns + 1.1, 0.9 + rows * (0.75 + 0.62 * max(levels, 2)))
        figure, grid = pyplot.subplots(
            rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False,
            layout="constrained",
        )  # fmt: skip
        values: dict[tuple[str, str], list[float]] = {}
        if results.has("fertility/documents.parquet"):
            columns_read = ("tokenizer", "corpus", "fertility")
            path = results.root / "fertility/documents.parquet"
            documents = read_parquet(path, columns_read).to_pandas()
            by_series = documents.groupby(["tokenizer", "corpus"])["fertility"].agg(list)
            drawn = {(tokenizer, corpus) for tokenizer in tokenizers for corpus in corpora}
            values = {key: each for key, each in by_series.items() if key in drawn}
        means = {key: number(row["fertility"]) for key, row in results.measured_tokenizers.items()}
        limits = span(values)
        entries = results.experiment.corpora
        languages = {corpus: language_label(entries[corpus].language) for corpus in corpora}
        colours = text_colours(results)
        if self.overlaid:
            colours = dict(zip(corpora, cycle(COLOURS), strict=False))
            patches = [
                Patch(color=colours[corpus], alpha=0.6, label=f"{corpus} ({language})")
                for corpus, language in languages.items()
            ]
            figure.legend(handles=patches, loc="outside upper right", ncols=len(patches))
        for axes, tokenizer in zip(grid.flat, tokenizers, strict=False):
            axes.set_title(tokenizer)
            for place, corpus in enumerate(corpora if self.overlaid else reversed(corpora)):
                series, level = (tokenizer, corpus), 0 if self.overlaid else place
                colour = colours[corpus]
                draw_density(axes, values.get(series), level, limits, colour)
                if (mean := means.get(series)) is not None:
                    top = level + PEAK
                    axes.plot([mean, mean], [level, top], color=colour, linewidth=1.6)
                    axes.annotate(
                        f"{mean:.2f}", (mean, top), (0, 2), textcoords="offset points", ha="center",
                        fontsize=8.5, color=darker(colour), weight="bold",
                    )  # fmt: skip
            if not values:
                nothing_yet(axes)
            axes.set_yticks([])
            if not self.overlaid:
                labels = [f"{corpus}\n{language}" for corpus, language in languages.items()]
                axes.set_yticks([level + 0.3 for level in range(levels)], labels[::-1])
            axes.tick_params(axis="y", length=0)
            axes.tick_params(axis="x", labelbottom=True)
            axes.grid(axis="y", visible=False)
            axes.set(xlim=limits, ylim=(-0.05, levels))
        for axes in grid.flat[len(tokenizers) :]:
            axes.set_axis_off()
        figure.supxlabel("tokens per word in a document (bar: mean over documents)", fontsize=9)
        return figure


def span(values: dict[Any, list[float]]) -> tuple[float, float]:
    """Return the x range: half a per cent of the documents of any series may lie outside it."""
    if not values:
        return 1.0, 3.0
    ordered = [(sorted(series), len(series) // 200) for series in values.values()]
    low = min(series[cut] for series, cut in ordered)
    high = max(series[-1 - cut] for series, cut in ordered)
    margin = 0.06 * (high - low) or 0.1
    return low - margin, high + margin


def draw_density(
    axes: Axes, values: list[float] | None, level: int, limits: tuple[float, float], colour: str
) -> None:
    if not values:
        return
    import numpy as np
    from scipy.ndimage import gaussian_filter1d

    counts, edges = np.histogram(values, bins=BINS, range=limits)
    density = gaussian_filter1d(counts.astype(float), 1.2, mode="constant", radius=4)
    centres = (edges[:-1] + edges[1:]) / 2
    top = level + PEAK * density / max(density.max(), 1e-12)
    axes.fill_between(centres, level, top, color=colour, alpha=0.3, linewidth=0)
    axes.plot(centres, top, color=colour, linewidth=1.1)


class TokenCountsFigure(ParallelOptions, FigureOptions):
    """Tokens for parallel text, and characters per token, by tokenizer."""

    kind: Literal["token_counts"]

    def draw(self, results: Results, palette: Palette) -> Figure:
        """Return two panels: tokens for parallel text by language, characters per token by corpus.
        The counts are those of VocADT's Figure 3; characters per token are LEP's symbols per token.
        """
        from matplotlib import pyplot

        setting = results.experiment.fertility
        tokenizers, parallel = setting.tokenizers, setting.parallel
        spoken = parallel.languages if parallel else ()
        languages = {language: language_label(language) for language in spoken}
        corpora = {name: name for name in setting.corpora}
        height = 1.6 + 0.3 * len(tokenizers) * max(len(languages), len(corpora), 1)
        figure, grid = pyplot.subplots(1, 2, figsize=(9.4, height), layout="constrained")
        colours = text_colours(results)
        for axes, counts, column, names, written, label in (
            (grid[0], results.parallel_text, "tokens", languages, "{:,.0f}",
             "tokens for the same sentences (fewer is better)"),
            (grid[1], results.measured_tokenizers, "characters_per_token", corpora, "{:.2f}",
             "characters per token (more is better)"),
        ):  # fmt: skip
            series = {
                names[key]: [Bar(number(counts.get((t, key), {}).get(column))) for t in tokenizers]
                for key in names
            }
            looks = [colours[key] for key in names]
            draw_bars(axes, tokenizers, series, looks, across=True, written=written)
            axes.set_xlabel(label)
            axes.margins(x=0.18)
            axes.locator_params(axis="x", nbins=5)
            axes.xaxis.set_major_formatter("{x:,.9g}")
            if axes.containers:
                axes.legend(
                    loc="lower left",
                    bbox_to_anchor=(0, 1),
                    ncols=max(1, LEGEND // (max(map(len, series)) + PATCH)),
                    fontsize=8,
                    borderaxespad=0.2,
                )
        return figure


def text_colours(results: Results) -> dict[str, str]:
    """Return the colours of languages and of corpora: shades that the language has (blues for
    Italian, reds for English, as in SAVA's Figure 1), or spare colours.
    """
    setting, entries = results.experiment.fertility, results.experiment.corpora
    spare, used = cycle(SPARE_COLOURS), Counter[str]()
    colours = {}
    for language in setting.parallel.languages if setting.parallel else ():
        colours[language] = next(iter(language_colours(language)), None) or next(spare)
    for corpus in setting.corpora:
        language = entries[corpus].language
        shades = language_colours(language)
        colours[corpus] = shades[used[language] % len(shades)] if shades else next(spare)
        used[language] += 1
    return colours


FIGURE = (FertilityFigure, TokenCountsFigure)
