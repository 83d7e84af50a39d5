"""What tables and figures may lack in an experiment: groups, runs, tasks and steps that they name.

Every function yields problems and raises nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from revocab.closed import BEST, PLACES, Step, unknown
from revocab.report.asked import group_tasks, task_languages

if TYPE_CHECKING:
    from revocab.config.schema import Experiment

#: What to do where the best checkpoint is to be shown: which step it is, nobody knows beforehand.
AS_A_RUN = (
    "; to score the best checkpoint, make a run of it: {method: lapt, start: {run: ID, step: best},"
    " recipe: null}"
)


def unknown_groups(experiment: Experiment, key: str, *groups: str) -> Iterator[str]:
    for group in groups:
        if group not in experiment.runs:
            yield unknown(key, group, experiment.runs, "run group")


def unknown_runs(experiment: Experiment, key: str, runs: Iterable[str]) -> Iterator[str]:
    from revocab.config.lineage import shown_ids

    known = shown_ids(experiment)
    for run in runs:
        if run not in known:
            yield unknown(f"{key}.runs", run, known, "run")


def unscored_runs(
    experiment: Experiment, key: str, runs: Sequence[str], tasks: Iterable[str], step: Step
) -> Iterator[str]:
    """Yield a problem for every run that is not scored at a step at which its tasks are shown.

    Runs that are not scored at all have dashes; it is a problem if there are no others.
    """
    from revocab.config.lineage import group_of, method_runs, run_steps, selected, single_runs

    runs = single_runs(experiment, runs)
    groups = dict.fromkeys(group_of(experiment, run) for run in runs)
    for group in filter(None, groups):
        yield from tasks_in_other_languages(experiment, key, group, tasks)
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


def tasks_in_other_languages(
    experiment: Experiment, key: str, group: str, tasks: Iterable[str]
) -> Iterator[str]:
    """Yield a problem if a group is not scored on some tasks, not being in its languages."""
    left = sorted(set(tasks) & set(task_languages(experiment)) - group_tasks(experiment, group))
    if left:
        spoken = ", ".join(experiment.runs[group].languages or ())
        yield (
            f"{key}: runs of group {group!r} are not scored on {', '.join(left)}, being in other "
            f"languages than the group's ({spoken}); name other tasks, or add the language there"
        )


def unknown_tasks(experiment: Experiment, key: str, tasks: Iterable[str]) -> Iterator[str]:
    known = experiment.evaluation.generation.tasks
    for task in tasks:
        if task not in known:
            yield unknown(f"{key}.tasks", task, known, "generation task")


def wrong_steps(
    experiment: Experiment, key: str, group: str, steps: Iterable[Step]
) -> Iterator[str]:
    """Yield a problem for every step that is no checkpoint of any run of a group."""
    from revocab.config.lineage import run_id, run_steps  # stands on the schema, which needs kinds

    if group not in experiment.runs:
        return
    found = [run_steps(experiment, run_id(group, one)) for one in experiment.runs[group].methods]
    trained = [one for one in found if len(one[0]) > 1]
    if not trained:
        return  # all runs have step 0 and no other, whatever is wanted
    numbers = sorted({step for one, _ in trained for step in one})
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
    experiment: Experiment, key: str, group: str, steps: Iterable[Step], section: str
) -> Iterator[str]:
    """Yield a problem if a run of a group is not scored at a step that is shown.

    ``section``: ``multiple_choice`` or ``generation``, whose ``steps`` say where runs are scored.
    """
    from revocab.config.lineage import run_id, run_steps, selected

    scored = getattr(experiment.evaluation, section).steps
    if group not in experiment.runs:
        return
    for name in experiment.runs[group].methods:
        known = run_steps(experiment, run_id(group, name))
        missing = sorted({*selected(*known, steps)} - {*selected(*known, scored)})
        if missing:
            yield (
                f"{key}: run '{run_id(group, name)}' is not scored at {missing}; add them to "
                f"evaluation.{section}.steps (received {scored or 'every checkpoint'})"
            )
            return


def no_choices(
    experiment: Experiment, key: str, language: str, columns: Iterable[str] | None = None
) -> Iterator[str]:
    """Yield a problem for a language without multiple-choice tasks, or families without one."""
    of_language = [
        one
        for one in experiment.evaluation.multiple_choice.tasks.values()
        if one.language == language
    ]
    if not of_language:
        known = {one.language for one in experiment.evaluation.multiple_choice.tasks.values()}
        yield unknown(f"{key}.language", language, known, "language with tasks")
        return
    families = {one.family for one in of_language}
    for family in columns or ():
        if family not in families:
            yield unknown(f"{key}.columns", family, families, f"family of {language!r} tasks")


def other_languages(experiment: Experiment, key: str, group: str, language: str) -> Iterator[str]:
    """Yield a problem for a language that has tasks, on which a group is not scored."""
    spoken = experiment.runs[group].languages if group in experiment.runs else None
    tasks = experiment.evaluation.multiple_choice.tasks.values()
    if spoken is None or language in spoken or language not in {one.language for one in tasks}:
        return
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
        known = "; ".join(f"{task}: {' '.join(one.direction)}" for task, one in tasks.items())
        yield (
            f"{key}: shows generation, and no generative task is in languages of group {group!r} "
            f"alone (runs.{group}.languages: {', '.join(experiment.runs[group].languages or ())}; "
            f"tasks: {known}); add a task, or a language"
        )


def no_new_rows(experiment: Experiment, key: str, *groups: str) -> Iterator[str]:
    """Yield a problem for a group none of whose runs trains rows of a new vocabulary."""
    from revocab.config.lineage import learns_new_rows

    for group in groups:
        if group in experiment.runs and not learns_new_rows(experiment.runs[group]):
            yield f"{key}: no run of group {group!r} trains rows of a new vocabulary; add one"
