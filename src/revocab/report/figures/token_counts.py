"""Tokens for parallel text by language, and characters per token by corpus."""

from __future__ import annotations

from typing import Literal

from revocab.languages import language_colours, language_label
from revocab.report.annotations import Axes, Figure
from revocab.report.figure_parts.palette import SPARE_COLOURS, Palette
from revocab.report.figure_parts.style import nothing_yet
from revocab.report.kind import FigureOptions, ParallelOptions
from revocab.report.results import Results, number

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


FIGURE = TokenCountsFigure
