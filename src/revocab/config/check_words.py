"""Whether prompts can be written: their templates are there, and the words of their languages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revocab.config.schema import Experiment
from revocab.corpora.copies import COPY, INSTRUCTION, TEXT
from revocab.errors import RevocabError
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.multiple_choice.tasks import fill_words, find_template, load_template
from revocab.languages import missing_words


def check_words(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every language that lacks words of a layout, a template, or a copying or
    translation task.
    """
    yield from layout_problems(experiment)
    yield from translation_problems(experiment)
    yield from copying_problems(experiment)
    yield from template_problems(experiment)


def layout_problems(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every generation task whose language lacks words of its layout."""
    for name, task in experiment.evaluation.generation.tasks.items():
        try:
            kind = find_kind(task.kind)
            kind.layout_in(task.direction, kind.changed(task))
        except RevocabError as error:
            key = f"evaluation.generation.tasks.{name}.direction"
            yield from (f"{key} {task.direction}: {one}" for one in error.problems)


def translation_problems(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every corpus of translations that cannot be asked for in words."""
    for name, corpus in experiment.corpora.items():
        try:
            _ = corpus.translation and corpus.translation.layouts
        except RevocabError as error:
            yield from (f"corpora.{name}.translation: {one}" for one in error.problems)


def copying_problems(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every corpus of copying tasks whose language lacks their words."""
    for name, corpus in experiment.corpora.items():
        problem = missing_words((INSTRUCTION, TEXT, COPY), corpus.language)
        if corpus.copying is not None and problem:
            yield f"corpora.{name}.copying: {problem}"


def template_problems(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every template that is not there, or not in the task's language."""
    given = experiment.evaluation.multiple_choice
    own = Path(given.templates) if given.templates else None
    for name, task in given.tasks.items():
        if task.template is None:
            continue
        key = f"evaluation.multiple_choice.tasks.{name}"
        try:
            path = find_template(task.template, own, f"{key}.template")
        except RevocabError as error:
            yield from error.problems
            continue
        try:
            fill_words(load_template(path), path, task.language)
        except RevocabError as error:
            yield from (f"{key}: {one}" for one in error.problems)
