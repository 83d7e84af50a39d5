"""Figures 2 to 5: a group's average score by training step."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Literal

from pydantic import Field, model_validator

from revocab.closed import GroupId, TaskId, TaskLanguage, exactly_one
from revocab.evaluation.multiple_choice.families import family_chance
from revocab.languages import language_label
from revocab.report.annotations import Axes, Experiment, Figure, Run
from revocab.report.figure_parts.curves import BASE, draw_band, draw_level, panels
from revocab.report.figure_parts.style import Label, Palette, label_ends, nothing_yet
from revocab.report.kind import FigureOptions
from revocab.report.names import method_label
from revocab.report.references import of_group, unknowns, unspoken
from revocab.report.results import Results
from revocab.report.runs import choices_in, group_tasks
from revocab.report.table_parts.table import Cell
from revocab.report.values import Average, TaskScore

#: Share of the axis by which runs of the same step stand apart.
APART = 0.02
#: Part of the scores' range below them at which chance is still drawn, and its colour.
NEAR, CHANCE = 0.35, "#777777"
#: Checkpoints that still fit as ticks.
MOST_TICKS = 13


class AverageScoreFigure(FigureOptions):
    """Average score of a group by step: on a language's multiple-choice tasks, or on named ones."""

    kind: Literal["average_score"]
    group: GroupId
    #: All multiple-choice tasks of the language.
    language: TaskLanguage | None = None
    #: These tasks, of any kind; the mean is Table 2's of the same tasks.
    named: list[TaskId] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one_choice(self) -> AverageScoreFigure:
        return exactly_one(self, ("language", "named"))

    def tasks(self, experiment: Experiment) -> list[str]:
        return self.named or choices_in(experiment, self.language or "")

    def steps(self, results: Results, run: Run) -> list[int]:
        """Return the checkpoints of a run at which all of the tasks are scored."""
        evaluation = results.experiment.evaluation
        tasks = set(self.tasks(results.experiment))
        sections = (evaluation.multiple_choice, evaluation.generation)
        scored = [set(run.select(each.steps)) for each in sections if tasks & each.tasks.keys()]
        return sorted(set.intersection(*scored)) if scored else []

    def draw(self, results: Results, palette: Palette) -> Figure:
        runs = [run for run in results.group(self.group) if run.made]
        known = results.group(self.group)
        names = [f"{method_label(run)} (paper)" if results.paper else method_label(run)
                 for run in known]  # fmt: skip
        figure, grid = panels(1, 1, [*names, BASE], (4.6, 3.0))
        axes = grid[0, 0]
        checkpoints = sorted({step for run in runs for step in self.steps(results, run)}) or [0, 1]
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
        tasks = self.tasks(results.experiment)
        score = "accuracy" if self.language else "score"
        what = f"mean {score} of {len(tasks)} tasks" if len(tasks) > 1 else f"{score}, {tasks[0]}"
        axes.set_ylabel(f"{what} (%)")
        about = language_label(self.language) if self.language else results.model_label(known[0])
        axes.set_title(f"{about}, mean ± standard error")
        if axes.has_data() and self.language:
            labels += self.draw_chance(results, axes, tasks)
        elif not axes.has_data():
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
        if self.language is not None:
            yield from unspoken(experiment, key, self.group, self.language)
            return
        known = group_tasks(experiment, self.group)
        yield from unknowns(f"{key}.named", self.named or (), known, "task of the group")

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        return of_group(self.group, self.tasks(experiment))

    def draw_run(
        self, results: Results, axes: Axes, run: Run, palette: Palette, shift: float
    ) -> list[Label]:
        """Draw a run's averages, ``shift`` to the right; return its label: height, text, colour."""
        line = palette.line(run.name)
        points = []
        for step in self.steps(results, run):
            cell = self.average(results, run, step)
            if cell.value is not None:
                points.append((step + shift, cell.scale * cell.value, cell))
        if points:
            places, values, cells = zip(*points, strict=True)
            errors = [cell.scale * (cell.stderr or 0) for cell in cells]
            axes.errorbar(
                places, values, errors, marker="o", markersize=4, elinewidth=1.0, capsize=0, **line
            )
            spread = [cell.deviation and cell.scale * cell.deviation for cell in cells]
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
            cell = self.average(results, run, 0)
            if cell.value is not None:
                label = BASE if run.base else method_label(run)
                labels.append(draw_level(axes, cell.scale * cell.value, label, line))
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
        if self.language is not None:
            return TaskScore.average(self.language, step).cell(results, run)
        return Average(named=self.named, step=step).cell(results, run)


FIGURE = AverageScoreFigure
