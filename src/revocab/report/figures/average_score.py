"""Figures 2 to 5: a group's average multiple-choice score by training step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from revocab.closed import Id
from revocab.evaluation.over_seeds import deviation
from revocab.languages import language_label
from revocab.report import notes
from revocab.report.asked import choices_in, of_group
from revocab.report.figure_parts.palette import Palette
from revocab.report.figure_parts.seed_curves import draw_band
from revocab.report.figure_parts.style import label_ends, nothing_yet
from revocab.report.kind import FigureKind, KindOptions
from revocab.report.names import method_label
from revocab.report.references import no_choices, other_languages, unknown_groups
from revocab.report.results import Results
from revocab.report.results.scores import AVERAGE, average_task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from revocab.config.expand import Run
    from revocab.config.schema import Experiment

#: Checkpoints that still fit as ticks.
MOST_TICKS = 13


class AverageScoreFigure(KindOptions):
    """Average multiple-choice score of a group by step."""

    kind: Literal["average_score"]
    group: Id
    language: Id


def draw(results: Results, options: AverageScoreFigure, palette: Palette) -> Figure:
    """Return one line per run of the group, the base model as a level line."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.2, 4.0))
    figure.subplots_adjust(left=0.09, right=0.8, bottom=0.13, top=0.92)
    runs = [run for run in results.group(options.group) if run.made]
    last = max((run.steps[-1] for run in runs), default=0) or 1
    labels = []
    for index, run in enumerate(runs):
        # A small shift keeps error bars of the same step apart.
        shift = (index - (len(runs) - 1) / 2) * last * 0.004
        labels += draw_run(results, options, axes, run, palette, shift)
    labels += draw_levels(results, options, axes, palette)
    axes.set_xlim(0, last * 1.03)
    checkpoints = sorted({step for run in runs for step in run.steps})
    if len(checkpoints) <= MOST_TICKS:
        axes.set_xticks(checkpoints)
    axes.set_xlabel("training steps")
    count = len(results.choice_tasks(options.language))
    axes.set_ylabel(f"mean accuracy of {count} tasks (%)")
    axes.set_title(f"{language_label(options.language)}, mean ± standard error")
    if not axes.has_data():
        nothing_yet(axes)
    label_ends(axes, labels, last * 1.03)
    return figure


def draw_run(
    results: Results,
    options: AverageScoreFigure,
    axes: Axes,
    run: Run,
    palette: Palette,
    shift: float,
) -> list[tuple[float, str, str]]:
    """Draw a run's averages, ``shift`` to the right; return its label as (height, text, colour)."""
    task, line = average_task(options.language), palette.line(run.name)
    steps = run.select(results.experiment.evaluation.multiple_choice.steps)
    found = {step: results.scores.get(run.id, step, task, AVERAGE) for step in steps}
    points = [(step, row) for step, row in found.items() if row]
    if points:
        axes.errorbar(
            [step + shift for step, _ in points],
            [100 * row["value"] for _, row in points],
            yerr=[100 * (row["stderr"] or 0) for _, row in points],
            marker="o",
            markersize=4,
            elinewidth=0.8,
            capsize=0,
            **line,
        )
        draw_band(
            axes,
            [step + shift for step, _ in points],
            [100 * row["value"] for _, row in points],
            [deviation([100 * one for one in row.get("by_seed", ())]) for _, row in points],
            line["color"],
        )
    printed = draw_published(results, options, axes, run, line["color"])
    if points:
        return [(100 * points[-1][1]["value"], method_label(run), line["color"])]
    return [] if printed is None else [(printed, f"{method_label(run)} (paper)", line["color"])]


def draw_levels(
    results: Results, options: AverageScoreFigure, axes: Axes, palette: Palette
) -> list[tuple[float, str, str]]:
    """Draw the averages of base model and references as level lines; return the labels of those
    that have a score.
    """
    labels = []
    for run in results.group(options.group):
        if run.made:
            continue
        line = palette.line(run.name)
        row = results.scores.get(run.id, 0, average_task(options.language), AVERAGE)
        if row:
            axes.axhline(100 * row["value"], linewidth=1.3, **line)
            label = "base model" if run.base else method_label(run)
            labels.append((100 * row["value"], label, line["color"]))
        draw_published(results, options, axes, run, line["color"])
    return labels


def draw_published(
    results: Results, options: AverageScoreFigure, axes: Axes, run: Run, colour: str
) -> float | None:
    """Draw the averages that the paper printed for a run as open diamonds; return the last."""
    last = None
    for step in run.steps:
        place = results.published_place(run, step)
        value = results.paper.multiple_choice(*place, "avg", options.language)
        if value:
            last = 100 * value.value
            axes.plot([step], [last], "D", color=colour, fillstyle="none", clip_on=False)
    return last


def problems(experiment: Experiment, key: str, options: AverageScoreFigure) -> Iterator[str]:
    """Yield a problem for a group that is not there, and for a language without tasks."""
    yield from unknown_groups(experiment, key, options.group)
    yield from no_choices(experiment, key, options.language)
    yield from other_languages(experiment, key, options.group, options.language)


def scores(experiment: Experiment, options: AverageScoreFigure) -> Iterator[tuple[str, str]]:
    """Yield the language's tasks."""
    return of_group(options.group, choices_in(experiment, options.language))


def limited(results: Results, options: AverageScoreFigure) -> str | None:
    """Return how many items were scored, where not all were."""
    return notes.limited_items(results)


FIGURE = FigureKind(
    options=AverageScoreFigure,
    draw=draw,
    problems=problems,
    limited=limited,
    scores=scores,
    caption="Unweighted mean over tasks at every checkpoint; bars are one standard error of the "
    "mean, items taken as independent. Dashed: the base model.",
    caption_seeds="Runs with seeds: the mean over them; bars are the error over the items of one "
    "run, the band is one standard deviation over seeds.",
    caption_published="Open diamonds: the paper's printed averages.",
)
