"""Figures of tokenizers: fertility over documents as ridges, and counts of tokens as bars."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field

from revocab.closed import MeasuredCorpusId, MeasuredTokenizerId
from revocab.io import read_parquet
from revocab.languages import language_colours, language_label
from revocab.report.annotations import Axes, Figure
from revocab.report.figure_parts.style import SPARE_COLOURS, Palette, nothing_yet, readable
from revocab.report.kind import FigureOptions, ParallelOptions, TokenizerOptions
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


#: Blue and red, in the order of the corpora, as in the paper.
COLOURS = ("#0072B2", "#C1272D", *SPARE_COLOURS)


class FertilityByCorpusFigure(TokenizerOptions, FigureOptions):
    """Distributions of fertility over documents, corpora in one panel."""

    kind: Literal["fertility_by_corpus"]
    #: A panel each.
    tokenizers: list[MeasuredTokenizerId] = Field(min_length=1)
    #: A colour each.
    corpora: list[MeasuredCorpusId] = Field(min_length=1, max_length=len(COLOURS))

    def draw(self, results: Results, palette: Palette) -> Figure:
        from matplotlib import pyplot
        from matplotlib.patches import Patch

        count = len(self.tokenizers)
        figure, grid = pyplot.subplots(
            1, count, figsize=(3.1 * count + 0.6, 2.9), sharex=True, sharey=True, squeeze=False
        )
        shown = {(tokenizer, corpus) for tokenizer in self.tokenizers for corpus in self.corpora}
        values = {
            place: series for place, series in fertility_values(results).items() if place in shown
        }
        measured = results.measured_tokenizers
        means = {place: number(row["fertility"]) for place, row in measured.items()}
        limits = span(values)
        colours = dict(zip(self.corpora, COLOURS, strict=False))
        for axes, tokenizer in zip(grid[0], self.tokenizers, strict=True):
            axes.set_title(tokenizer)
            for corpus, colour in colours.items():
                draw_ridge(axes, values.get((tokenizer, corpus)), 0, limits, colour)
                draw_mean(axes, means.get((tokenizer, corpus)), 0, colour)
            if not values:
                nothing_yet(axes)
            axes.set_yticks([])
            axes.set_ylim(0, 0.9)
            axes.set_xlim(*limits)
        handles = []
        for corpus, colour in colours.items():
            language = language_label(results.experiment.corpora[corpus].language)
            handles.append(Patch(color=colour, alpha=0.6, label=f"{corpus} ({language})"))
        figure.legend(handles=handles, loc="upper right", ncols=len(colours), frameon=False)
        figure.supxlabel("tokens per word in a document", fontsize=9)
        figure.tight_layout(rect=(0, 0, 1, 0.92))
        return figure


#: Part of a group's place that its bars fill.
FILLED = 0.8
#: Characters that fit above a panel, and those that a legend's patch and space take.
LEGEND, PATCH = 75, 6


class TokenCountsFigure(ParallelOptions, FigureOptions):
    """Tokens for parallel text, and characters per token, by tokenizer."""

    kind: Literal["token_counts"]

    def draw(self, results: Results, palette: Palette) -> Figure:
        """Return two panels: tokens for parallel text by language, characters per token by corpus.

        The counts are those of VocADT's Figure 3; characters per token are LEP's symbols per token.
        """
        from matplotlib import pyplot

        setting = results.experiment.fertility
        tokenizers, corpora = setting.tokenizers, setting.corpora
        languages = setting.parallel.languages if setting.parallel else []
        colours = colours_of(results, languages, corpora)
        figure, (left, right) = pyplot.subplots(
            1, 2, figsize=(9.4, 1.6 + 0.3 * len(tokenizers) * max(len(languages), len(corpora), 1))
        )
        parallel, measured = results.parallel_text, results.measured_tokenizers
        tokens = {place: number(row["tokens"]) for place, row in parallel.items()}
        characters = {place: number(row["characters_per_token"]) for place, row in measured.items()}
        names = {language: language_label(language) for language in languages}
        draw_bars(left, tokens, tokenizers, names, colours, "{:,.0f}")
        left.set_xlabel("tokens for the same sentences (fewer is better)")
        draw_bars(
            right, characters, tokenizers, {corpus: corpus for corpus in corpora}, colours, "{:.2f}"
        )
        right.set_xlabel("characters per token (more is better)")
        figure.tight_layout()
        return figure


def colours_of(results: Results, languages: list[str], corpora: list[str]) -> dict[str, str]:
    used: dict[str, int] = {}
    spare = iter(SPARE_COLOURS * 9)
    colours = {}
    for language in languages:
        shades = language_colours(language)
        colours[language] = shades[0] if shades else next(spare)
    for corpus in corpora:
        language = results.experiment.corpora[corpus].language
        shades = language_colours(language)
        place = used[language] = used.get(language, -1) + 1
        colours[corpus] = shades[place % len(shades)] if shades else next(spare)
    return colours


def draw_bars(
    axes: Axes,
    values: dict[tuple[str, str], float | None],
    tokenizers: list[str],
    names: dict[str, str],
    colours: dict[str, str],
    shown: str,
) -> None:
    thickness = FILLED / max(len(names), 1)
    drawn = False
    for place, name in enumerate(names):
        offset = (place - (len(names) - 1) / 2) * thickness
        heights = [(i, values.get((tokenizer, name))) for i, tokenizer in enumerate(tokenizers)]
        bars = [(i + offset, value) for i, value in heights if value is not None]
        if not bars:
            continue
        drawn = True
        places, lengths = zip(*bars, strict=True)
        axes.barh(places, lengths, thickness * 0.92, color=colours[name], label=names[name])
        for y, length in bars:
            axes.annotate(
                shown.format(length), (length, y), (3, 0), textcoords="offset points",
                va="center", fontsize=7.5,
            )  # fmt: skip
    axes.set_yticks(range(len(tokenizers)), tokenizers)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.18)
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter("{x:,.9g}")
    if drawn:
        columns = LEGEND // (max(map(len, names.values())) + PATCH)
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=max(1, columns), fontsize=8,
            borderaxespad=0.2,
        )  # fmt: skip
    else:
        nothing_yet(axes)


FIGURE = (FertilityFigure, FertilityByCorpusFigure, TokenCountsFigure)
