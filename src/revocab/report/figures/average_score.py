"""Figures 2 to 5: a group's average multiple-choice score by training step."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import ClassVar, Literal

from revocab.closed import GroupId, TaskLanguage
from revocab.evaluation.multiple_choice.families import family_chance
from revocab.languages import language_label
from revocab.report.annotations import Axes, Experiment, Figure, Run
from revocab.report.figure_parts.curves import BASE, draw_band, draw_level, panels
from revocab.report.figure_parts.palette import Palette
from revocab.report.figure_parts.style import Label, label_ends, nothing_yet
from revocab.report.kind import FigureOptions
from revocab.report.names import method_label
from revocab.report.references import choices_in, of_group, unscored_language
from revocab.report.results import Results
from revocab.report.table_parts.table import Cell
from revocab.report.values.task_scores import TaskScore

#: Share of the axis by which runs of the same step stand apart.
APART = 0.02
#: Part of the scores' range below them at which chance is still drawn, and its colour.
NEAR, CHANCE = 0.35, "#777777"
#: Checkpoints that still fit as ticks.
MOST_TICKS = 13


class AverageScoreFigure(FigureOptions):
    """Average multiple-choice score of a group by step."""

    kind: Literal["average_score"]
    group: GroupId
    language: TaskLanguage
    caption: ClassVar[str] = (
        "Unweighted mean over tasks at every checkpoint; bars are one standard error of the "
        "mean, items taken as independent. Dashed: the base model. Dotted, where scores come near "
        "it: chance."
    )
    caption_seeds: ClassVar[str] = (
        "Runs with seeds: the mean over them; bars are the error over the items of one "
        "run, the band is one standard deviation over seeds."
    )
    caption_published: ClassVar[str] = "Open diamonds: the paper's printed averages."

    def draw(self, results: Results, palette: Palette) -> Figure:
        runs = [run for run in results.group(self.group) if run.made]
        known = results.group(self.group)
        names = [f"{method_label(run)} (paper)" if results.paper else method_label(run)
                 for run in known]  # fmt: skip
        figure, grid = panels(1, 1, [*names, BASE], (4.6, 3.0))
        axes = grid[0, 0]
        asked = results.experiment.evaluation.multiple_choice.steps
        checkpoints = sorted({step for run in runs for step in run.select(asked)}) or [0, 1]
        first, last = checkpoints[0], max(checkpoints[-1], checkpoints[0] + 1)
        labels = []
        for index, run in enumerate(runs):
            # A small shift keeps error bars of the same step apart.
            shift = (index - (len(runs) - 1) / 2) * (last - first) * APART
            labels += self.draw_run(results, axes, run, palette, shift)
        labels += self.draw_levels(results, axes, palette)
        # Nothing is scored before the first checkpoint: the axis begins there.
        margin = (last - first) * (len(runs) / 2 + 1) * APART
        axes.set_xlim(first - margin, last + margin)
        if len(checkpoints) <= MOST_TICKS:
            axes.set_xticks(checkpoints)
        axes.set_xlabel("training steps")
        tasks = results.choice_tasks(self.language)
        what = f"mean accuracy of {len(tasks)} tasks" if len(tasks) > 1 else f"accuracy, {tasks[0]}"
        axes.set_ylabel(f"{what} (%)")
        axes.set_title(f"{language_label(self.language)}, mean ± standard error")
        if axes.has_data():
            labels += self.draw_chance(results, axes, tasks)
        else:
            nothing_yet(axes)
        label_ends(axes, labels)
        return figure

    def draw_chance(self, results: Results, axes: Axes, tasks: list[str]) -> list[Label]:
        """Draw the average of blind guessing, unless all scores lie far above it."""
        guesses = [family_chance(results.family(task)) for task in tasks]
        known = [guess for guess in guesses if guess is not None]
        if not known or len(known) < len(guesses):
            return []
        level = 100 * fmean(known)
        low, high = axes.get_ylim()
        if level < low - (high - low) * NEAR:
            return []
        axes.axhline(level, color=CHANCE, linestyle=":", linewidth=1.4)
        return [(level, "chance", CHANCE)]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        return unscored_language(experiment, key, self.group, self.language)

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        return of_group(self.group, choices_in(experiment, self.language))

    def draw_run(
        self, results: Results, axes: Axes, run: Run, palette: Palette, shift: float
    ) -> list[Label]:
        """Draw a run's averages, ``shift`` to the right; return its label: height, text, colour."""
        line = palette.line(run.name)
        points = []
        for step in run.select(results.experiment.evaluation.multiple_choice.steps):
            cell = self.average(results, run, step)
            if cell.value is not None:
                points.append((step + shift, 100 * cell.value, cell))
        if points:
            places, values, cells = zip(*points, strict=True)
            errors = [100 * (cell.stderr or 0) for cell in cells]
            axes.errorbar(
                places, values, errors, marker="o", markersize=4, elinewidth=1.0, capsize=0, **line
            )
            spread = [None if cell.deviation is None else 100 * cell.deviation for cell in cells]
            draw_band(axes, places, values, spread, line["color"])
        printed = self.draw_published(results, axes, run, line["color"])
        if points:
            return [(points[-1][1], method_label(run), line["color"])]
        return [] if printed is None else [(printed, f"{method_label(run)} (paper)", line["color"])]

    def draw_levels(self, results: Results, axes: Axes, palette: Palette) -> list[Label]:
        labels = []
        for run in results.group(self.group):
            if run.made:
                continue
            line = palette.line(run.name)
            level = self.average(results, run, 0).value
            if level is not None:
                label = BASE if run.base else method_label(run)
                labels.append(draw_level(axes, 100 * level, label, line))
            self.draw_published(results, axes, run, line["color"])
        return labels

    def draw_published(self, results: Results, axes: Axes, run: Run, colour: str) -> float | None:
        last = None
        for step in run.steps:
            printed = self.average(results, run, step).compared()
            if printed:
                last = 100 * printed
                axes.plot([step], [last], "D", color=colour, fillstyle="none", clip_on=False)
        return last

    def average(self, results: Results, run: Run, step: int) -> Cell:
        return TaskScore.average(self.language, step).cell(results, run)


FIGURE = AverageScoreFigure
