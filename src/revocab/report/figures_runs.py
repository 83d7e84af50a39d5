"""Figures with training steps on the x axis: average scores (2 to 5) and losses (6, 7, 9, 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from revocab.config.expand import Run
from revocab.report.names import language_label, method_label
from revocab.report.results import Results, number
from revocab.report.scores import AVERAGE, average_task
from revocab.report.style import Palette, label_ends, nothing_yet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEGEND_COLUMNS = 4
#: Checkpoints that still fit as ticks.
MOST_TICKS = 13
#: Width of smoothing (sigma) as a share of all steps.
SMOOTHING = 0.02


def average_score_figure(results: Results, entry: dict[str, Any], palette: Palette) -> Figure:
    """Return a group's average multiple-choice score by step, the base model as a level line."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.2, 4.0))
    figure.subplots_adjust(left=0.09, right=0.8, bottom=0.13, top=0.92)
    task = average_task(entry["language"])
    runs = [run for run in results.group(entry["group"]) if run.trains]
    last = max((run.steps[-1] for run in runs), default=1)
    labels = []
    for index, run in enumerate(runs):
        points = [
            (step, row)
            for step in run.scored_steps()
            if (row := results.scores.get(run.id, step, task, AVERAGE))
        ]
        line = palette.line(run.name)
        if points:
            # A small shift keeps error bars of the same step apart.
            shift = (index - (len(runs) - 1) / 2) * last * 0.004
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
            labels.append((100 * points[-1][1]["value"], method_label(run), line["color"]))
        printed = draw_published(results, entry, axes, run, line["color"])
        if printed is not None and not points:
            labels.append((printed, f"{method_label(run)} (paper)", line["color"]))
    base = results.scores.get(results.base(entry["group"]).id, 0, task, AVERAGE)
    if base:
        line = palette.line("base")
        axes.axhline(100 * base["value"], linewidth=1.3, **line)
        labels.append((100 * base["value"], "base model", line["color"]))
    draw_published(
        results, entry, axes, results.base(entry["group"]), palette.line("base")["color"]
    )
    axes.set_xlim(0, last * 1.03)
    checkpoints = sorted({step for run in runs for step in run.steps})
    if len(checkpoints) <= MOST_TICKS:
        axes.set_xticks(checkpoints)
    axes.set_xlabel("training steps")
    count = len(results.choice_tasks(entry["language"]))
    axes.set_ylabel(f"mean accuracy of {count} tasks (%)")
    axes.set_title(f"{language_label(entry['language'])}, mean ± standard error")
    if not axes.has_data():
        nothing_yet(axes)
    label_ends(axes, labels, last * 1.03)
    return figure


def draw_published(
    results: Results, entry: dict[str, Any], axes: Axes, run: Run, colour: str
) -> float | None:
    """Draw the averages that the paper printed for a run as open diamonds; return the last."""
    model, last = results.model_label(run), None
    for step in run.steps:
        value = results.paper.multiple_choice(model, step, run.name, "avg", entry["language"])
        if value:
            last = 100 * value.value
            axes.plot([step], [last], "D", color=colour, fillstyle="none", clip_on=False)
    return last


def smooth(values: list[float], width: float = SMOOTHING) -> list[float]:
    """Return values averaged over their neighbours (Gaussian, sigma ``width`` of their number).

    Neighbours on both sides count, so that the curve does not lag behind a fall.
    """
    import numpy as np

    sigma = max(width * len(values), 1e-6)
    reach = max(1, round(3 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    padded = np.pad(np.asarray(values, dtype=float), reach)
    present = np.pad(np.ones(len(values)), reach)
    weights = np.convolve(present, kernel, "valid")
    return (np.convolve(padded, kernel, "valid") / weights).tolist()


def loss_figure(results: Results, entry: dict[str, Any], palette: Palette) -> Figure:
    """Return training loss per token and per byte, and held-out bits per byte by language."""
    from matplotlib import pyplot

    runs = [results.run(one) for one in entry["runs"]]
    languages = results.heldout_languages()
    columns = max(2, len(languages))
    figure, grid = pyplot.subplots(2, columns, figsize=(4.6 * columns, 6.8), squeeze=False)
    top = 0.905 if len(runs) < LEGEND_COLUMNS else 0.875
    figure.subplots_adjust(left=0.075, right=0.985, bottom=0.075, top=top, hspace=0.34, wspace=0.2)
    for axes in grid[0][2:]:
        axes.set_axis_off()
    same = len({run.target for run in runs}) == 1
    title = "Training loss per token" + ("" if same else " (tokenizers differ)")
    draw_losses(results, grid[0][0], runs, palette, "loss")
    grid[0][0].set(title=title, ylabel="nats per token")
    draw_losses(results, grid[0][1], runs, palette, "bits_per_byte")
    grid[0][1].set(title="Training loss per byte of text", ylabel="bits per byte")
    for axes, language in zip(grid[1], languages, strict=False):
        draw_heldout(results, axes, runs, palette, language)
        axes.set(title=f"Held-out {language_label(language)} text", ylabel="bits per byte")
    for axes in grid[1][len(languages) :]:
        axes.set_axis_off()
    for axes in (*grid[0][:2], *grid[1][: len(languages)]):
        axes.set_xlabel("training steps")
        axes.set_xlim(left=0)
    legend(figure, runs, palette)
    return figure


def draw_losses(
    results: Results, axes: Axes, runs: list[Run], palette: Palette, column: str
) -> None:
    """Draw one column of ``losses.csv``: every step faint, and smoothed."""
    for run in runs:
        rows = results.csv("runs", run.id, "losses.csv")
        points = [(int(row["step"]), number(row[column])) for row in rows]
        points = [(step, value) for step, value in points if value is not None]
        if not points:
            continue
        steps, values = zip(*points, strict=True)
        line = palette.line(run.name)
        axes.plot(steps, values, color=line["color"], alpha=0.22, linewidth=0.8)
        axes.plot(steps, smooth(list(values)), **line)
    if not axes.has_data():
        nothing_yet(axes)


def draw_heldout(
    results: Results, axes: Axes, runs: list[Run], palette: Palette, language: str
) -> None:
    """Draw held-out bits per byte by checkpoint, step 0 included, and the base model's level."""
    base = results.heldout_by_language(results.base(runs[0].group), language)
    if base and len({run.group for run in runs}) == 1:
        axes.axhline(base[0], linewidth=1.2, **palette.line("base"))
    for run in runs:
        points = results.heldout_by_language(run, language)
        if points:
            axes.plot(
                list(points),
                list(points.values()),
                marker="o",
                markersize=4,
                clip_on=False,
                **palette.line(run.name),
            )
    if not axes.lines:
        nothing_yet(axes)


def legend(figure: Figure, runs: list[Run], palette: Palette) -> None:
    """Put one legend for all panels above them."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], label=method_label(run), linewidth=2.2, **palette.line(run.name))
        for run in runs
    ]
    if len({run.group for run in runs}) == 1:
        handles.append(Line2D([], [], label="base model (held-out)", **palette.line("base")))
    figure.legend(
        handles=handles,
        loc="upper center",
        ncols=min(LEGEND_COLUMNS, len(handles)),
        handlelength=2.8,
    )
