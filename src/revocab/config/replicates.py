"""Replicates written out: from ``seeds:`` to a run for each, before a file is validated."""

from __future__ import annotations

from typing import Any

from revocab.config.lineage import PARENTS, run_id
from revocab.config.raw_runs import RawRun, raw_runs, write_out


def replicate_name(name: str, seed: int) -> str:
    """Return what a run is called with a seed."""
    return f"{name}-seed{seed}"


def with_replicates(values: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return an experiment's values with a run for each of its seeds, and problems.

    A run that begins from one with the same seed, or reads it, names it without its seed.
    """
    seeds = {
        run_id(run.group_id, run.name): run.several("seeds")[0] or () for run in raw_runs(values)
    }

    def write(run: RawRun) -> tuple[dict[str, Any], list[str]]:
        """Return the replicates of a run by name; itself where it has one seed."""
        given, wrong = run.several("seeds")
        entry = run.without("seeds")
        if given is None:
            return {run.name: entry}, wrong
        if "seed" in entry:
            wrong.append(
                f"{run.key}.seed: given, and so is {run.place('seeds')}.seeds; remove one of them, "
                "or say 'seeds: null' here"
            )
        return {
            replicate_name(run.name, seed): {
                "method": run.name,
                **entry,
                **{key: at_seed(entry[key], seed) for key in PARENTS if key in entry},
                "seed": seed,
                "replicate_of": run.name,
            }
            for seed in given
        }, wrong

    def at_seed(named: Any, seed: int) -> Any:
        """Return the run that another begins from: with the same seed where it has that."""
        run = named.get("run") if isinstance(named, dict) else None
        if seed not in seeds.get(str(run), ()):
            return named
        return {**named, "run": replicate_name(str(run), seed)}

    return write_out(values, "seeds", write)
