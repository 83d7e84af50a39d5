"""Runs that differ in their seed alone, shown as one: its scores are means over them.

A row of such a run has ``by_seed``, the values of its replicates in the experiment's order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.report.results.score_table import Record


def shown_runs(runs: Iterable[Run]) -> list[Run]:
    """Return the runs that tables and figures show: replicates as one, where the first stands."""
    found: dict[str, Run] = {}
    for run in runs:
        one = run
        if run.replicate_of:
            name = run.replicate_of.removeprefix(f"{run.group}-")
            one = replace(run, id=run.replicate_of, name=name, label=name, replicate_of=None)
        found.setdefault(one.id, one)
    return list(found.values())


def replicates_by_run(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the replicates of every run that has some, by its id."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        if run.replicate_of:
            found.setdefault(run.replicate_of, []).append(run)
    return found


def pooled_scores(rows: Sequence[Record], runs: Iterable[Run]) -> Iterator[Record]:
    """Yield a row for each score that all replicates of a run have: its mean over them.

    Its standard error is theirs on average, that over the items of one run.
    """
    by_key: dict[tuple[Any, ...], dict[str, Record]] = {}
    for row in rows:
        key = row["step"], row["task"], row["metric"]
        by_key.setdefault(key, {})[row["run"]] = row
    for identifier, replicates in replicates_by_run(runs).items():
        for of_run in by_key.values():
            found = [of_run[run.id] for run in replicates if run.id in of_run]
            values = [row["value"] for row in found]
            if len(found) < len(replicates) or None in values:
                continue
            yield {
                **found[0],
                "run": identifier,
                "value": fmean(values),
                "stderr": mean_of([row["stderr"] for row in found]),
                "low": None,
                "high": None,
                "by_seed": values,
            }


def mean_by_seed(rows: Sequence[Record | None]) -> list[float]:
    """Return the mean over rows seed by seed; nothing where one has no values by seed."""
    by_seed = [row.get("by_seed", ()) for row in rows if row is not None]
    return [fmean(values) for values in zip(*by_seed, strict=False)]


def averaged(tables: Sequence[Sequence[Record]], key: Sequence[str], *values: str) -> list[Record]:
    """Return the rows that all tables have by ``key``, with the means of some columns.

    One table is as it is.
    """
    if len(tables) == 1:
        return list(tables[0])
    by_key = [{tuple(row[one] for one in key): row for row in table} for table in tables]
    shared = [one for one in by_key[0] if all(one in table for table in by_key)]
    return [
        {**by_key[0][one], **{v: mean_of([table[one][v] for table in by_key]) for v in values}}
        for one in shared
    ]


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean of values; None where one of them is."""
    return None if None in values else fmean(value for value in values if value is not None)


def pooled_similarities(rows: Sequence[Record], runs: Iterable[Run]) -> list[Record]:
    """Return similarities of runs as they are shown: means over replicates, whose similarities to
    each other are left out.
    """
    shown = {run.id: run.replicate_of for run in runs if run.replicate_of}
    if not shown:
        return list(rows)
    found: dict[tuple[Any, ...], list[Record]] = {}
    for row in rows:
        run, other = (shown.get(row[name], row[name]) for name in ("run", "other"))
        if run != other:
            named = {**row, "run": run, "other": other}
            key = row["group"], row["kind"], row["step"], run, other
            found.setdefault(key, []).append(named)
    return [
        {**same[0], "similarity": mean_of(values), "by_seed": values}
        for same in found.values()
        for values in [[row["similarity"] for row in same]]
    ]
