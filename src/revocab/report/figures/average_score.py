"""Figures 2 to 5: a group's average multiple-choice score by training step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from revocab.closed import GroupId, TaskLanguage
from revocab.languages import language_label
from revocab.report.annotations import Axes, Experiment, Figure, Run
from revocab.report.asked import choices_in, of_group
from revocab.report.figure_parts.curves import draw_band
from revocab.report.figure_parts.palette import Palette
from revocab.report.figure_parts.style import label_ends, nothing_yet
from revocab.report.kind import FigureOptions
from revocab.report.names import method_label
from revocab.report.references import unscored_language
from revocab.report.results import Results
from revocab.report.table_parts.table import Cell
from revocab.report.values.task_scores import TaskScore

#: Checkpoints that still fit as ticks.
MOST_TICKS = 13


class AverageScoreFigure(FigureOptions):
    """Average multiple-choice score of a group by step."""

    kind: Literal["average_score"]
    group: GroupId
    language: TaskLanguage
    caption: ClassVar[str] = (
        "Unweighted mean over tasks at every checkpoint; bars are one standard error of the "
        "mean, items taken as independent. Dashed: the base model."
    )
    caption_seeds: ClassVar[str] = (
        "Runs with seeds: the mean over them; bars are the error over the items of one "
        "run, the band is one standard deviation over seeds."
    )
    caption_published: ClassVar[str] = "Open diamonds: the paper's printed averages."

    def draw(self, results: Results, palette: Palette) -> Figure:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(7.2, 4.0))
        figure.subplots_adjust(left=0.09, right=0.8, bottom=0.13, top=0.92)
        runs = [run for run in results.group(self.group) if run.made]
        last = max((run.steps[-1] for run in runs), default=0) or 1
        labels = []
        for index, run in enumerate(runs):
            # A small shift keeps error bars of the same step apart.
            shift = (index - (len(runs) - 1) / 2) * last * 0.004
            labels += self.draw_run(results, axes, run, palette, shift)
        labels += self.draw_levels(results, axes, palette)
        axes.set_xlim(0, last * 1.03)
        checkpoints = sorted({step for run in runs for step in run.steps})
        if len(checkpoints) <= MOST_TICKS:
            axes.set_xticks(checkpoints)
        axes.set_xlabel("training steps")
        count = len(results.choice_tasks(self.language))
        axes.set_ylabel(f"mean accuracy of {count} tasks (%)")
        axes.set_title(f"{language_label(self.language)}, mean ± standard error")
        if not axes.has_data():
            nothing_yet(axes)
        label_ends(axes, labels, last * 1.03)
        return figure

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        return unscored_language(experiment, key, self.group, self.language)

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        return of_group(self.group, choices_in(experiment, self.language))

    def draw_run(
        self, results: Results, axes: Axes, run: Run, palette: Palette, shift: float
    ) -> list[tuple[float, str, str]]:
        """Draw a run's averages, ``shift`` to the right; return its label: height, text, colour."""
        line = palette.line(run.name)
        points = []
        for step in run.select(results.experiment.evaluation.multiple_choice.steps):
            cell = self.average(results, run, step)
            if cell.value is not None:
                points.append((step + shift, 100 * cell.value, cell))
        if points:
            places, values, cells = zip(*points, strict=True)
            axes.errorbar(
                places,
                values,
                yerr=[100 * (cell.stderr or 0) for cell in cells],
                marker="o",
                markersize=4,
                elinewidth=0.8,
                capsize=0,
                **line,
            )
            spread = [None if cell.deviation is None else 100 * cell.deviation for cell in cells]
            draw_band(axes, places, values, spread, line["color"])
        printed = self.draw_published(results, axes, run, line["color"])
        if points:
            return [(points[-1][1], method_label(run), line["color"])]
        return [] if printed is None else [(printed, f"{method_label(run)} (paper)", line["color"])]

    def draw_levels(
        self, results: Results, axes: Axes, palette: Palette
    ) -> list[tuple[float, str, str]]:
        """Draw the averages of base model and references as level lines; return the labels of those
        that have a score.
        """
        labels = []
        for run in results.group(self.group):
            if run.made:
                continue
            line = palette.line(run.name)
            level = self.average(results, run, 0).value
            if level is not None:
                axes.axhline(100 * level, linewidth=1.3, **line)
                label = "base model" if run.base else method_label(run)
                labels.append((100 * level, label, line["color"]))
            self.draw_published(results, axes, run, line["color"])
        return labels

    def draw_published(self, results: Results, axes: Axes, run: Run, colour: str) -> float | None:
        last = None
        for step in run.steps:
            printed = self.average(results, run, step).published
            if printed:
                last = 100 * printed
                axes.plot([step], [last], "D", color=colour, fillstyle="none", clip_on=False)
        return last

    def average(self, results: Results, run: Run, step: int) -> Cell:
        return TaskScore.average(self.language, step).cell(results, run)


FIGURE = AverageScoreFigure
