"""Runs of a sweep in two dimensions: which run stands at which values of two axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import Field

from revocab.closed import Id, unknown
from revocab.report import notes
from revocab.report.asked import of_group
from revocab.report.kind import KindOptions
from revocab.report.references import unknown_groups, unknown_runs
from revocab.report.values.run_values import OneValue

if TYPE_CHECKING:
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment
    from revocab.report.results import Results

#: Id of a run by the values of the rows' and the columns' axis.
Grid = dict[tuple[str, str], str]


class SweepOptions(KindOptions):
    """One value of the runs of a sweep, by two of its axes."""

    group: Id
    rows: Id = Field(description="axis")
    columns: Id = Field(description="axis")
    value: OneValue
    runs: list[Id] | None = Field(
        default=None, min_length=1, description="default: all of the group that are on both axes"
    )
    where: dict[Id, Id] = Field(
        default_factory=dict, description="values of other axes: runs that have others are left out"
    )


def places_of(experiment: Experiment, group: str) -> dict[str, Mapping[str, str]]:
    """Return where the runs of a group stand, the name of a value by axis, in the file's order.

    What ``sweep:`` writes out says it of its runs; a run may say it itself (``axes:``).
    """
    from revocab.config.lineage import run_id  # stands on the schema, which needs kinds

    given = experiment.runs[group].methods
    return {run_id(group, one.replicate_of or name): one.axes or {} for name, one in given.items()}


def chosen_places(experiment: Experiment, options: SweepOptions) -> dict[str, Mapping[str, str]]:
    """Return where those runs stand that are shown."""
    return {
        run: place
        for run, place in places_of(experiment, options.group).items()
        if (options.runs is None or run in options.runs)
        and {options.rows, options.columns} <= {*place}
        and all(place.get(axis) == value for axis, value in options.where.items())
    }


def grid_of(experiment: Experiment, options: SweepOptions) -> Grid:
    """Return the run at every pair of values, in the order of the file."""
    return {
        (place[options.rows], place[options.columns]): run
        for run, place in chosen_places(experiment, options).items()
    }


def values_of(grid: Grid) -> tuple[list[str], list[str]]:
    """Return the values of both axes in their order."""
    first, second = (list(dict.fromkeys(pair[place] for pair in grid)) for place in (0, 1))
    return first, second


def sweep_problems(experiment: Experiment, key: str, options: SweepOptions) -> Iterator[str]:
    """Yield a problem for axes that are not there, and places where several runs stand."""
    yield from unknown_groups(experiment, key, options.group)
    if options.group not in experiment.runs:
        return
    wrong = list(unknown_runs(experiment, key, options.runs or ()))
    places = places_of(experiment, options.group)
    axes = list(dict.fromkeys(axis for place in places.values() for axis in place))
    of = f"axis of runs of group {options.group!r}"
    wanted = {"rows": options.rows, "columns": options.columns}
    wrong += [unknown(f"{key}.{name}", axis, axes, of) for name, axis in wanted.items()
              if axis not in axes]  # fmt: skip
    if options.rows == options.columns:
        wrong.append(f"{key}.columns: {options.columns!r} is the axis of the rows; name another")
    for axis, value in options.where.items():
        known = {place[axis] for place in places.values() if axis in place}
        if value not in known:
            wrong.append(unknown(f"{key}.where.{axis}", value, known, "value of this axis"))
    yield from wrong
    if wrong:
        return
    chosen = chosen_places(experiment, options)
    if not chosen:
        yield f"{key}: no run is on both axes and at 'where'; change runs or where"
    taken: dict[tuple[str, str], str] = {}
    for run, place in chosen.items():
        pair = place[options.rows], place[options.columns]
        if pair in taken:
            yield (
                f"{key}: runs {taken[pair]!r} and {run!r} stand at the same place "
                f"({', '.join(pair)}); choose with runs or where (their axes: "
                f"{', '.join(place)})"
            )
        taken[pair] = run
    where = f"{key}.value.{options.value.name}"
    yield from options.value.value.problems(experiment, where, list(chosen))


def sweep_needs(layout: Layout, options: SweepOptions) -> list[str]:
    """Return the files behind the value."""
    runs = list(chosen_places(layout.experiment, options))
    return list(options.value.value.needs(layout, runs))


def sweep_scores(experiment: Experiment, options: SweepOptions) -> Iterator[tuple[str, str]]:
    """Yield the tasks that the value shows."""
    return of_group(options.group, options.value.value.tasks(experiment))


def sweep_limited(results: Results, options: SweepOptions) -> str | None:
    """Return how scores are limited, where it shows some and not all items were used."""
    return notes.limited_tasks(results, options.value.value.tasks(results.experiment))
