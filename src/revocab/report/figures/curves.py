"""Curves by step: losses in training and on held-out text, and a group's average score."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from statistics import fmean
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from revocab.closed import (
    GroupId,
    HeldoutLanguage,
    Id,
    ShownRunId,
    TaskId,
    TaskLanguage,
    exactly_one,
    unknown,
)
from revocab.evaluation.metrics import family_chance
from revocab.evaluation.over_seeds import deviation
from revocab.languages import language_label
from revocab.report.annotations import Axes, Experiment, Figure, Run
from revocab.report.drawing import (
    Label,
    Palette,
    Point,
    draw_curve,
    draw_level,
    label_ends,
    nothing_yet,
    panels,
)
from revocab.report.kind import FigureOptions, Place
from revocab.report.references import without_heldout_text
from revocab.report.results import Results, number
from revocab.report.results.heldout_losses import Progress, heldout_curve, training_progress
from revocab.report.runs import RunIndex, choices_in, method_label, text_languages
from revocab.report.values import Average

BASE = "base model"
#: Labels of the horizontal axis.
LABELS: dict[Progress, str] = {
    "steps": "training steps",
    "bytes": "megabytes of training text",
    "flops": "10¹² floating-point operations of training",
}
#: Columns of training losses, with title and label of their panels.
TRAINING = (
    ("loss", "Training loss per token", "nats per token"),
    ("bits_per_byte", "Training loss per byte of text", "bits per byte"),
)
#: From which ratio of the greatest to the least value on a vertical axis is logarithmic: else the
#: first, high losses press all others into a band at the bottom.
OUTLYING = 2.5
#: The most ticks of a logarithmic axis that can still be read.
TICKS = 6
#: Ticks within a decade, for a range of losses below :data:`WIDE` and for a wider one.
FINE, COARSE = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 2, 5)
WIDE = 8
#: Width of smoothing (sigma) as a share of all steps.
SMOOTHING = 0.02
#: Up to so many points of a curve have markers.
MOST_MARKERS = 16
#: How the curve of a reference is drawn, over all others.
STANDING_OUT: dict[str, Any] = {
    "color": "#000000", "linestyle": (0, (4, 1.5)), "linewidth": 3.0, "zorder": 3,
}  # fmt: skip
#: Share of the axis by which runs of the same step stand apart.
APART = 0.02
#: Part of the scores' range below them at which chance is still drawn, and its colour.
NEAR, CHANCE = 0.35, "#777777"
#: Checkpoints that still fit as ticks.
MOST_TICKS = 13
#: Points of curves by run.
Curves = dict[str, list[Point]]
#: Returns losses of a run by step: of a language, or of a column of training losses.
Losses = Callable[[Results, Run, str], dict[int, float]]


class Panel(NamedTuple):
    """What a panel of losses shows."""

    title: str
    unit: str
    curves: Curves
    #: Loss of the base model.
    level: float | None = None
    #: Draw averages over neighbouring steps, and the curves themselves faintly.
    smoothed: bool = False


class LossFigure(FigureOptions):
    """Losses of chosen runs: in training, and on held-out text."""

    kind: Literal["loss"]
    #: A curve each.
    runs: list[ShownRunId] = Field(min_length=1)
    training: bool = Field(
        default=True, description="show training loss, per token and per byte, above held-out loss"
    )
    languages: list[HeldoutLanguage] | None = Field(
        default=None, min_length=1, description="default: those of all held-out text"
    )
    #: What the horizontal axis counts: steps, megabytes of text, or 10¹² floating-point operations.
    over: Progress = "steps"
    #: ``log``: both axes; early steps and small differences are seen, at which methods differ.
    #: ``auto``: the vertical one, where a few high values would flatten the rest.
    scale: Literal["auto", "linear", "log"] = "auto"
    reference: Id | None = Field(
        default=None, description="run that stands out: its line is black, bold and dashed"
    )

    def draw(self, results: Results, palette: Palette) -> Figure:
        runs = [results.run(run) for run in self.runs]
        rows = self.rows(results, runs)
        columns, names = max(map(len, rows)), [*map(method_label, runs), BASE]
        figure, grid = panels(len(rows), columns, names)
        every = [(panel, points) for panel in chain(*rows) for points in panel.curves.values()]
        places = [(at, panel.smoothed) for panel, points in every for at, *_ in points]
        # A logarithmic axis begins at the first place at which held-out loss was measured.
        first = min((at for at, smoothed in places if at > 0 and not smoothed), default=None)
        last = max(places, default=(0, True))[0] or 1
        padded = chain(*([*row, *[None] * (columns - len(row))] for row in rows))
        for axes, panel in zip(grid.flat, padded, strict=True):
            if panel is None:
                axes.set_axis_off()
                continue
            ends = []
            for run in runs:
                if points := panel.curves.get(run.id):
                    line = STANDING_OUT if run.id == self.reference else palette.line(run.name)
                    if panel.smoothed:
                        xs = [place for place, _, _ in points]
                        values = [value for _, value, _ in points]
                        axes.plot(xs, values, color=line["color"], alpha=0.22, linewidth=0.8)
                        smoothed = zip(points, smooth(values), strict=True)
                        points = [(place, value, error) for (place, _, error), value in smoothed]
                    # Markers where these can be told apart.
                    marker = "o" if len(points) <= MOST_MARKERS else None
                    draw_curve(axes, points, line, marker=marker, markersize=4, clip_on=False)
                    ends.append((points[-1][1], method_label(run), line["color"]))
            if panel.level is not None:
                ends.append(draw_level(axes, panel.level, BASE, palette.line("base")))
            axes.set(title=panel.title, xlabel=LABELS[self.over], ylabel=panel.unit, xlim=(0, last))
            if not axes.has_data():
                nothing_yet(axes)
            elif first is not None:
                scale_axes(axes, self.scale, first)
            label_ends(axes, ends)
        return figure

    def rows(self, results: Results, runs: list[Run]) -> list[list[Panel]]:
        """Return panels of training loss, and of held-out loss by language."""
        places = {run.id: training_progress(results, run, self.over) for run in runs if run.trains}

        def curves(losses: Losses, of: str) -> Curves:
            losses_of = {run: over_seeds(results, results.run(run), losses, of) for run in places}
            return {
                run: [(at[step], *loss) for step, loss in losses_of[run].items() if step in at]
                for run, at in places.items()
            }

        training = [
            Panel(title, unit, curves(training_losses, column), smoothed=True)
            for column, title, unit in TRAINING
            if self.training
        ]
        if training and len({run.target for run in runs}) > 1:
            training[0] = training[0]._replace(title=f"{training[0].title} (tokenizers differ)")
        heldout = []
        for language in self.languages or text_languages(results.experiment):
            level = None
            if len({run.group for run in runs}) == 1:
                losses = heldout_curve(results, results.base(runs[0].group), language)
                level = next(iter(losses.values()), None)
            title = f"Held-out {language_label(language)} text"
            heldout.append(Panel(title, "bits per byte", curves(heldout_curve, language), level))
        return [row for row in (training, heldout) if row]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        if not self.training:
            yield from without_heldout_text(experiment, key)
        if self.reference is not None and self.reference not in self.runs:
            yield unknown(f"{key}.reference", self.reference, self.runs, "run of the figure")
        for named in self.runs if self.training else ():
            if not experiment.index.run(named).trains:
                yield (
                    f"{key}.runs: {named!r} is not trained, so that it has no loss by step; name"
                    " runs that have a recipe"
                )


def over_seeds(
    results: Results, run: Run, losses: Losses, of: str
) -> dict[int, tuple[float, float | None]]:
    """Return by step, of those that all seeds have, the mean loss and its standard deviation."""
    tables = [losses(results, single, of) for single in results.replicates(run)]
    steps = [step for step in tables[0] if all(step in table for table in tables)]
    by_step = {step: [table[step] for table in tables] for step in steps}
    return {step: (fmean(each), deviation(each)) for step, each in by_step.items()}


def training_losses(results: Results, run: Run, column: str) -> dict[int, float]:
    rows = results.csv("runs", run.id, "losses.csv")
    values = {int(row["step"]): number(row[column]) for row in rows}
    return {step: value for step, value in values.items() if value is not None}


def smooth(values: Sequence[float]) -> list[float]:
    """Return values averaged over their neighbours (Gaussian, sigma a share of their number).
    Neighbours on both sides count, so that the curve does not lag behind a fall.
    """
    import numpy as np
    from scipy.ndimage import gaussian_filter1d

    sigma = SMOOTHING * len(values)
    near: dict[str, Any] = {"mode": "constant", "radius": max(1, round(3 * sigma))}
    sums = gaussian_filter1d(np.asarray(values, dtype=float), sigma, **near)
    return (sums / gaussian_filter1d(np.ones(len(values)), sigma, **near)).tolist()


def scale_axes(axes: Axes, scale: str, first: float) -> None:
    """Make the axes of a panel logarithmic as ``scale`` says; 0 stands left of the ``first`` place,
    and the label says which vertical axis is.
    """
    from matplotlib.ticker import LogLocator

    if scale == "log":
        axes.set_xscale("symlog", linthresh=first, linscale=0.4)
        axes.set_xticks([0.0, *doublings(first, axes.dataLim.x1)])
        axes.xaxis.set_major_formatter("{x:.3g}")
    low, high = axes.dataLim.intervaly
    wide = scale == "log" or (scale == "auto" and high >= OUTLYING * low)
    if wide and low > 0:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=FINE if high < WIDE * low else COARSE))
        axes.yaxis.set_major_formatter("{x:.3g}")
        axes.set_ylabel(f"{axes.get_ylabel()}, log scale")
    axes.minorticks_off()


def doublings(first: float, last: float) -> list[float]:
    """Return powers of two times ``first``, up to ``last``, thinned to what can be read; ``first``
    becomes 1, 2 or 5 times a power of ten unless it is whole.
    """
    if first % 1:
        ten = 10.0 ** math.floor(math.log10(first))
        first = next(step * ten for step in (1, 2, 5, 10) if step * ten >= first)
    count = 1 + int(math.log2(last / first) + 1e-9) if last > first else 1
    return [first * 2.0**power for power in range(0, count, -(-count // TICKS))]


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

    def steps(self, index: RunIndex, run: Run) -> list[int]:
        """Return the checkpoints of a run at which all of the tasks are scored."""
        evaluation = index.experiment.evaluation
        tasks = set(self.tasks(index.experiment))
        sections = (evaluation.multiple_choice, evaluation.generation)
        scored = [set(run.select(each.steps)) for each in sections if tasks & each.tasks.keys()]
        return sorted(set.intersection(*scored)) if scored else []

    def draw(self, results: Results, palette: Palette) -> Figure:
        # Levels are drawn beside what there is: last.
        runs = sorted(results.group(self.group), key=lambda run: not run.made)
        suffix = " (paper)" if results.paper else ""
        names = [*(f"{method_label(run)}{suffix}" for run in runs), BASE]
        figure, ((axes,),) = panels(1, 1, names, (4.6, 3.0))
        adapted = [run for run in runs if run.made]
        scored = {step for run in adapted for step in self.steps(results, run)}
        checkpoints = sorted(scored) or [0, 1]
        first, last = checkpoints[0], max(checkpoints[-1], checkpoints[0] + 1)
        apart = (last - first) * APART
        ends: list[Label] = []
        for index, run in enumerate(runs):
            line, name = palette.line(run.name), BASE if run.base else method_label(run)
            # A small shift keeps error bars of the same step apart.
            shift = (index - (len(adapted) - 1) / 2) * apart
            points: list[Point] = []
            errors, printed = [], []
            for step in run.steps:
                cell = self.value(step).cell(results, run)
                if cell.value is not None:
                    wide = cell.deviation and cell.scale * cell.deviation
                    points.append((step + shift, cell.scale * cell.value, wide))
                    errors.append(cell.scale * (cell.stderr or 0))
                if paper := cell.compared():
                    printed.append((step, cell.scale * paper))
            if points and not run.made:
                ends.append(draw_level(axes, points[0][1], name, line))
            elif points:
                draw_curve(axes, points, line, yerr=errors, marker="o", markersize=4)
                ends.append((points[-1][1], name, line["color"]))
            elif printed and run.made:
                ends.append((printed[-1][1], f"{name} (paper)", line["color"]))
            if printed:
                look = {"color": line["color"], "fillstyle": "none", "clip_on": False}
                axes.plot(*zip(*printed, strict=True), "D", **look)
        # Nothing is scored before the first checkpoint: the axis begins there.
        margin = (len(adapted) / 2 + 1) * apart
        if len(checkpoints) <= MOST_TICKS:
            axes.set_xticks(checkpoints)
        tasks = self.tasks(results.experiment)
        score = "accuracy" if self.language else "score"
        what = f"mean {score} of {len(tasks)} tasks" if len(tasks) > 1 else f"{score}, {tasks[0]}"
        about = language_label(self.language) if self.language else results.model_label(runs[0])
        axes.set(title=f"{about}, mean ± standard error", xlabel="training steps")
        axes.set(ylabel=f"{what} (%)", xlim=(first - margin, last + margin))
        if not axes.has_data():
            nothing_yet(axes)
        elif self.language:
            ends += draw_chance(axes, [family_chance(results.family(task)) for task in tasks])
        label_ends(axes, ends)
        return figure

    def value(self, step: int) -> Average:
        return Average(language=self.language, named=self.named, step=step)

    def places(self, index: RunIndex) -> Iterator[Place]:
        for run in index.group(self.group):
            for step in self.steps(index, run):
                yield Place(self.value(step), run)


def draw_chance(axes: Axes, guesses: Sequence[float | None]) -> list[Label]:
    """Draw the average of blind guessing, unless it is unknown or all scores lie far above it."""
    known = [guess for guess in guesses if guess is not None]
    low, high = axes.get_ylim()
    if len(known) < len(guesses) or (level := 100 * fmean(known)) < low - (high - low) * NEAR:
        return []
    axes.axhline(level, color=CHANCE, linestyle=":", linewidth=1.4)
    return [(level, "chance", CHANCE)]


FIGURE = (LossFigure, AverageScoreFigure)
