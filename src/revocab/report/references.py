"""What tables and figures may lack in an experiment: groups, runs, tasks and steps that they name.

Every function yields problems and raises nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from revocab.closed import Step, unknown

if TYPE_CHECKING:
    from revocab.config.schema import Experiment


def unknown_groups(experiment: Experiment, key: str, *groups: str) -> Iterator[str]:
    """Yield a problem for every run group that is not there."""
    for group in groups:
        if group not in experiment.runs:
            yield unknown(key, group, experiment.runs, "run group")


def unknown_runs(experiment: Experiment, key: str, runs: Iterable[str]) -> Iterator[str]:
    """Yield a problem for every run that is not there."""
    known = {
        f"{group}-{name}"
        for group, entry in experiment.runs.items()
        for name in ("base", *entry.methods)
    }
    for run in runs:
        if run not in known:
            yield unknown(f"{key}.runs", run, known, "run")


def unknown_tasks(experiment: Experiment, key: str, tasks: Iterable[str]) -> Iterator[str]:
    """Yield a problem for every generative task that is not there."""
    known = experiment.evaluation.generation.tasks
    for task in tasks:
        if task not in known:
            yield unknown(f"{key}.tasks", task, known, "generation task")


def wrong_steps(
    experiment: Experiment, key: str, group: str, steps: Iterable[Step]
) -> Iterator[str]:
    """Yield a problem for every step at which a group's recipe exports no checkpoint."""
    from revocab.config.expand import checkpoint_steps  # stands on the schema, which needs kinds

    if group not in experiment.runs:
        return
    name = experiment.runs[group].recipe
    recipe = experiment.recipes.get(name)
    if recipe is None:
        return
    allowed = checkpoint_steps(recipe)
    for step in steps:
        if isinstance(step, int) and step not in allowed:
            yield (
                f"{key}: step {step} is not a checkpoint of recipe {name!r} (checkpoints: "
                f"{', '.join(map(str, allowed))}; or 'first', 'last')"
            )


def no_parallel_text(experiment: Experiment, key: str, kind: str) -> Iterator[str]:
    """Yield a problem if there is no text that says the same in several languages."""
    if experiment.fertility.parallel is None:
        yield (
            f"{key}: kind {kind!r} shows parallel text, and fertility.parallel is not given; add it"
        )
