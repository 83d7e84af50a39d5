"""Which scores tables and figures show, which alone are computed, and what they may lack in an
experiment: families, tasks and steps that they name.

Ids need no check here: what they name is said by their types, and checked with all others
(``experiment/check_ids.py``). Problems are yielded, and nothing is raised.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from revocab.closed import BEST, PLACES, Id, Step, unknown
from revocab.report.annotations import Experiment


def asked_scores(experiment: Experiment) -> dict[str, set[str]]:
    """Return the tasks, multiple-choice and generative, whose scores are shown, by run group."""
    asked: dict[str, set[str]] = {}
    for options in (*experiment.tables.values(), *experiment.figures.values()):
        for group, task in options.scores(experiment):
            if task in group_tasks(experiment, group):
                asked.setdefault(group, set()).add(task)
    return asked


def task_languages(experiment: Experiment) -> dict[str, set[Id]]:
    evaluation = experiment.evaluation
    choices = {name: {task.language} for name, task in evaluation.multiple_choice.tasks.items()}
    generated = {name: {*task.direction} for name, task in evaluation.generation.tasks.items()}
    return {**choices, **generated}


def group_tasks(experiment: Experiment, group: Id) -> set[str]:
    """Return the tasks in a run group's languages; all tasks, if it names no languages."""
    spoken = experiment.runs[group].languages if group in experiment.runs else None
    tasks = task_languages(experiment)
    return {task for task, used in tasks.items() if spoken is None or used.issubset(spoken)}


def choices_in(
    experiment: Experiment, language: Id, columns: Iterable[Id] | None = None
) -> list[str]:
    return [
        name
        for name, task in experiment.evaluation.multiple_choice.tasks.items()
        if task.language == language and (columns is None or task.family in columns)
    ]


def of_runs(
    experiment: Experiment, runs: Iterable[str], tasks: Iterable[str]
) -> Iterator[tuple[str, str]]:
    from revocab.experiment.lineage import group_of  # stands on the schema, which needs kinds

    named = list(tasks)
    for group in dict.fromkeys(group_of(experiment, run) for run in runs):
        if group is not None:
            yield from of_group(group, named)


def of_group(group: str, tasks: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((group, task) for task in tasks)


#: What to do where the best checkpoint is to be shown: which step it is, nobody knows beforehand.
AS_A_RUN = (
    "; to score the best checkpoint, make a run of it: {method: lapt, start: {run: ID, step: best},"
    " recipe: null}"
)


def unknowns(key: str, names: Iterable[str], known: Collection[str], what: str) -> Iterator[str]:
    return (unknown(key, name, known, what) for name in names if name not in known)


def unscored_runs(
    experiment: Experiment, key: str, runs: Sequence[str], tasks: Iterable[str], step: Step
) -> Iterator[str]:
    """Yield a problem for every run that is not scored at a step at which its tasks are shown.

    Runs that are not scored at all have dashes; it is a problem if there are no others.
    """
    from revocab.experiment.lineage import group_of, method_runs, run_steps, selected, single_runs

    runs = single_runs(experiment, runs)
    for group in dict.fromkeys(group_of(experiment, run) for run in runs):
        known = set(tasks) & set(task_languages(experiment))
        left = sorted(known - group_tasks(experiment, group)) if group is not None else []
        if group is not None and left:
            spoken = ", ".join(experiment.runs[group].languages or ())
            yield (
                f"{key}: runs of group {group!r} are not scored on {', '.join(left)}, being in "
                f"other languages than the group's ({spoken}); name other tasks, or add the "
                "language there"
            )
    evaluation, made = experiment.evaluation, method_runs(experiment)
    sections = [
        name
        for name in ("multiple_choice", "generation")
        if set(tasks) & set(getattr(evaluation, name).tasks)
    ]
    scored = {run for run, (group, name) in made.items() if group.methods[name].evaluate}
    silent = [run for run in runs if run in made and run not in scored]
    if silent and len(silent) == len(runs):
        yield f"{key}: none of the runs is scored ({', '.join(silent)}: evaluate: false); name one"
    # A base model or a reference is scored, whatever is wanted.
    for run in dict.fromkeys(run for run in runs if run in scored):
        wanted = selected(*run_steps(experiment, run), [step])
        if not wanted:
            yield f"{key}.step: {step!r} is not a checkpoint of run {run!r}"
        for section in sections if wanted else ():
            steps = getattr(evaluation, section).steps
            if not {*wanted} <= {*selected(*run_steps(experiment, run), steps)}:
                yield (
                    f"{key}.step: run {run!r} is not scored at {step!r}; add it to "
                    f"evaluation.{section}.steps (received {steps})"
                )


def wrong_steps(
    experiment: Experiment, key: str, group: str, steps: Iterable[Step]
) -> Iterator[str]:
    from revocab.experiment.lineage import (  # stands on the schema, which needs kinds
        run_id,
        run_steps,
    )

    if group not in experiment.runs:
        return
    methods = experiment.runs[group].methods
    steps_of = [run_steps(experiment, run_id(group, name)) for name in methods]
    trained = [known for known in steps_of if len(known[0]) > 1]
    if not trained:
        return  # all runs have step 0 and no other, whatever is wanted
    numbers = sorted({step for own, _ in trained for step in own})
    names = list(dict.fromkeys([*PLACES, *(name for _, ends in trained for name in ends)]))
    for step in steps:
        if step not in numbers and step not in names:
            yield (
                f"{key}: step {step!r} is not a checkpoint of a run of group {group!r}"
                " (checkpoints: "
                f"{', '.join(map(str, numbers))}; or by name: {', '.join(names)})"
                + (AS_A_RUN if step == BEST else "")
            )


def unscored_steps(
    experiment: Experiment, key: str, group: str, steps: Sequence[Step], section: str
) -> Iterator[str]:
    """Yield a problem for every step that is no checkpoint of a group, and if a run of it is not
    scored at one.

    ``section``: ``multiple_choice`` or ``generation``, whose ``steps`` say where runs are scored.
    """
    from revocab.experiment.lineage import run_id, run_steps, selected

    yield from wrong_steps(experiment, key, group, steps)
    scored = getattr(experiment.evaluation, section).steps
    for name in experiment.runs[group].methods if group in experiment.runs else ():
        known = run_steps(experiment, run_id(group, name))
        missing = sorted({*selected(*known, steps)} - {*selected(*known, scored)})
        if missing:
            yield (
                f"{key}: run '{run_id(group, name)}' is not scored at {missing}; add them to "
                f"evaluation.{section}.steps (received {scored or 'every checkpoint'})"
            )
            return


def unscored_language(
    experiment: Experiment,
    key: str,
    group: str,
    language: str,
    families: Iterable[str] | None = None,
) -> Iterator[str]:
    """Yield a problem for families without a task in a language that has tasks, and if a group is
    not scored on these.
    """
    tasks = experiment.evaluation.multiple_choice.tasks.values()
    known = {task.family for task in tasks if task.language == language}
    if not known:
        return
    yield from unknowns(f"{key}.columns", families or (), known, f"family of {language!r} tasks")
    spoken = experiment.runs[group].languages if group in experiment.runs else None
    if spoken is not None and language not in spoken:
        yield (
            f"{key}.language: {language!r} is not a language of group {group!r}"
            f" (runs.{group}.languages: "
            f"{', '.join(spoken)}), whose runs are scored only on tasks in these; choose one of "
            "them, or add it there"
        )


def no_generated_text(experiment: Experiment, key: str, group: str) -> Iterator[str]:
    """Yield a problem if there is no generative task, or none in a group's languages."""
    tasks = experiment.evaluation.generation.tasks
    if not tasks:
        yield f"{key}: shows generation, and evaluation.generation.tasks is empty; add a task"
    elif group in experiment.runs and not tasks.keys() & group_tasks(experiment, group):
        known = "; ".join(f"{name}: {' '.join(task.direction)}" for name, task in tasks.items())
        yield (
            f"{key}: shows generation, and no generative task is in languages of group {group!r} "
            f"alone (runs.{group}.languages: {', '.join(experiment.runs[group].languages or ())}; "
            f"tasks: {known}); add a task, or a language"
        )


def no_new_rows(experiment: Experiment, key: str, *groups: str) -> Iterator[str]:
    from revocab.experiment.lineage import learns_new_rows

    for group in groups:
        if group in experiment.runs and not learns_new_rows(experiment.runs[group]):
            yield f"{key}: no run of group {group!r} trains rows of a new vocabulary; add one"
