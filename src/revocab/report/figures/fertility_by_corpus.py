"""Figure 1 as the paper prints it: a panel per tokenizer, in it corpora by colour."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from revocab.closed import MeasuredCorpusId, MeasuredTokenizerId
from revocab.languages import language_label
from revocab.report.annotations import Figure
from revocab.report.figure_parts.palette import SPARE_COLOURS, Palette
from revocab.report.figure_parts.style import nothing_yet
from revocab.report.figures.fertility import draw_mean, draw_ridge, fertility_values, span
from revocab.report.kind import FigureOptions, TokenizerOptions
from revocab.report.results import Results, number

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


FIGURE = FertilityByCorpusFigure
