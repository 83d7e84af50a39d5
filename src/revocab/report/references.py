"""Which scores tables and figures show, which alone are computed, and what they may lack in an
experiment: families, tasks and steps that they name.

Ids need no check here: what they name is said by their types, and checked with all others
(``experiment/check_ids.py``). Problems are yielded, and nothing is raised.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from revocab.closed import BEST, PLACES, Step, unknown
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.metrics import COMET_METRICS
from revocab.report.annotations import Experiment, Run
from revocab.report.runs import group_tasks, task_languages, text_languages


def shown_scores(experiment: Experiment) -> dict[str, set[str]]:
    """Return the tasks, multiple-choice and generative, whose scores are shown, by run group."""
    tasks: dict[str, set[str]] = {}
    for options in (*experiment.tables.values(), *experiment.figures.values()):
        for group, task in options.scores(experiment):
            if task in group_tasks(experiment, group):
                tasks.setdefault(group, set()).add(task)
    return tasks


#: What to do where the best checkpoint is to be shown: which step it is, nobody knows beforehand.
AS_A_RUN = (
    "; to score the best checkpoint, make a run of it: {method: lapt, start: {run: ID, step: best},"
    " recipe: null}"
)


def unknowns(key: str, names: Iterable[str], known: Collection[str], what: str) -> Iterator[str]:
    return (unknown(key, name, known, what) for name in names if name not in known)


def unscored(
    experiment: Experiment, key: str, runs: Sequence[Run], tasks: Collection[str], step: Step
) -> Iterator[str]:
    """Yield a problem for every run that is not scored at a step at which its tasks are shown. Runs
    that are not scored at all have dashes; it is a problem if there are no others.
    """
    known = set(tasks) & set(task_languages(experiment))
    for group in dict.fromkeys(run.group for run in runs):
        if left := ", ".join(sorted(known - group_tasks(experiment, group))):
            spoken = f"runs.{group}.languages: {', '.join(experiment.runs[group].languages or ())}"
            yield (
                f"{key}: runs of group {group!r} are not scored on {left}, being in other languages"
                f" than the group's ({spoken}); name other tasks, or add the language there"
            )
    if not any(run.evaluate for run in runs):
        silent = ", ".join(run.id for run in runs)
        yield f"{key}: none of the runs is scored ({silent}: evaluate: false); name one"
    # A base model or a reference is scored, whatever is wanted.
    for run in (run for run in runs if run.evaluate and run.made):
        wanted = run.select([step])
        if not wanted:
            yield f"{key}.step: {step!r} is not a checkpoint of run {run.id!r}"
        for section in ("multiple_choice", "generation"):
            steps = getattr(experiment.evaluation, section).steps
            section_tasks = set(tasks) & set(getattr(experiment.evaluation, section).tasks)
            if section_tasks and not {*wanted} <= {*run.select(steps)}:
                yield (
                    f"{key}.step: run {run.id!r} is not scored at {step!r}; add it to "
                    f"evaluation.{section}.steps (received {steps or 'every checkpoint'})"
                )


def wrong_steps(
    experiment: Experiment, key: str, group: str, steps: Iterable[Step]
) -> Iterator[str]:
    """Yield a problem for every step that is no checkpoint of any run of a group."""
    runs = experiment.index.group(group, evaluated=False)
    trained = [run for run in runs if len(run.steps) > 1]
    if not trained:
        return  # all runs have step 0 and no other, whatever is wanted
    numbers = sorted({step for run in trained for step in run.steps})
    names = list(dict.fromkeys([*PLACES, *(name for run in trained for name in run.stage_ends)]))
    known = f"{', '.join(map(str, numbers))}; or by name: {', '.join(names)}"
    for step in steps:
        if step not in numbers and step not in names:
            about = f"a checkpoint of a run of group {group!r} (checkpoints: {known})"
            yield f"{key}: step {step!r} is not {about}" + (AS_A_RUN if step == BEST else "")


def wrong_metrics(
    experiment: Experiment, key: str, task: str, metrics: Iterable[str]
) -> Iterator[str]:
    kind = find_kind(experiment.evaluation.generation.tasks[task].kind)
    known = [metric.name for metric in kind.metrics]
    known += [metric.name for metric in COMET_METRICS.values()] if kind.comet else []
    return unknowns(key, metrics, known, "metric of its kind")


def without_heldout_text(
    experiment: Experiment, key: str, languages: Iterable[str] = (), listed: str = "languages"
) -> Iterator[str]:
    """Yield a problem if there is no held-out text, and for languages, under a key ``listed``,
    without any.
    """
    if not experiment.evaluation.heldout:
        yield f"{key}: shows held-out loss, and evaluation.heldout names no corpus; name one"
        return
    known = text_languages(experiment)
    yield from unknowns(f"{key}.{listed}", languages, known, "language with held-out text")


def unmeasured_steps(
    experiment: Experiment,
    key: str,
    runs: Iterable[Run],
    steps: Iterable[Step],
    also: Iterable[str] = (),
) -> Iterator[str]:
    """Yield the steps at which no run has a held-out loss; ``also``: other words that may stand."""
    numbers: set[int] = set()
    names: dict[str, None] = dict.fromkeys([*PLACES, *also])
    for run in runs:
        if recipe := experiment.recipes.get(run.recipe or ""):
            numbers.update(recipe.heldout_steps)
            names.update(dict.fromkeys(run.stage_ends))
    if not numbers:
        return  # all runs have step 0 and no other, whatever is wanted
    known = f"measured: {', '.join(map(str, sorted(numbers)))}; or by name: {', '.join(names)}"
    for step in steps:
        if step not in numbers and step not in names:
            yield (
                f"{key}: held-out loss is measured at no step {step!r} of these runs ({known}); "
                "heldout_every of their recipes adds steps"
            )
