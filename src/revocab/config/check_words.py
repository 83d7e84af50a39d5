"""Whether the languages of tasks have the words that their prompts are written with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revocab.config.schema import Experiment
from revocab.errors import RevocabError
from revocab.evaluation.generation_kind import find_kind
from revocab.evaluation.tasks import fill_words, load_template


def check_words(experiment: Experiment, tasks_folder: Path) -> Iterator[str]:
    """Yield a problem for every language that lacks words of a layout or template."""
    yield from layout_problems(experiment)
    yield from template_problems(experiment, tasks_folder)


def layout_problems(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every generation task whose language lacks words of its layout."""
    for name, task in experiment.evaluation.generation.tasks.items():
        try:
            find_kind(task.kind).layout_in(task.direction)
        except RevocabError as error:
            key = f"evaluation.generation.tasks.{name}.direction"
            yield from (f"{key} {task.direction}: {one}" for one in error.problems)


def template_problems(experiment: Experiment, tasks_folder: Path) -> Iterator[str]:
    """Yield a problem for every template that cannot be read, or not in the task's language."""
    for name, task in experiment.evaluation.multiple_choice.tasks.items():
        path = tasks_folder / f"{task.template}.yaml"
        if task.template is None or not path.is_file():  # check_sources knows of the latter
            continue
        try:
            fill_words(load_template(path), path, task.language)
        except RevocabError as error:
            key = f"evaluation.multiple_choice.tasks.{name}"
            yield from (f"{key}: {one}" for one in error.problems)
