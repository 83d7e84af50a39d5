"""Checks on tasks: their data, languages, templates and words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from revocab.closed import unknown
from revocab.corpora.documents import COPY, INSTRUCTION, TEXT
from revocab.corpora.source import Kind
from revocab.corpora.translations import LAYOUT
from revocab.errors import RevocabError, refused
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.multiple_choice.tasks import fill_words, find_template, load_template
from revocab.experiment.schema import Experiment, Source
from revocab.experiment.schema.evaluation import GenerationTask
from revocab.languages import missing_words
from revocab.report.references import shown_scores
from revocab.report.tables.languages import TRANSLATION

#: Where a multiple-choice task may take its rows from: the harness reads them itself.
TASK_DATA: tuple[Kind, ...] = ("world", "path", "hub")
CHOICES, GENERATION = "evaluation.multiple_choice.tasks", "evaluation.generation.tasks"


def check_tasks(experiment: Experiment) -> Iterator[str]:
    for name, task in experiment.evaluation.multiple_choice.tasks.items():
        if task.data:
            yield from task_data_problems(f"{CHOICES}.{name}.data", task.data)
        if task.harness and not ships_task(task.harness):
            yield (
                f"{CHOICES}.{name}.harness: lm-evaluation-harness has no task {task.harness!r};"
                " 'lm_eval ls tasks' lists them"
            )
    yield from layout_problems(experiment)
    for name, corpus in experiment.corpora.items():
        for problem in refused(lambda pairs: pairs and pairs.layouts, corpus.translation):
            yield f"corpora.{name}.translation: {problem}"
        lacking = missing_words((INSTRUCTION, TEXT, COPY), corpus.language)
        if corpus.copying is not None and lacking:
            yield f"corpora.{name}.copying: {lacking}"
    yield from template_problems(experiment)


@cache
def harness_files() -> list[str]:
    spec = find_spec("lm_eval")
    folder = Path(spec.origin).parent if spec and spec.origin else Path("lm_eval")
    files = (f"{place}/{name}" for place, _, names in os.walk(folder / "tasks") for name in names)
    return [file for file in files if file.endswith(".yaml")]


@cache
def ships_task(name: str) -> bool:
    """Return whether a file of the installed harness may define a task.

    The harness itself takes 14 s to read them. Files with a similar name are searched first.
    """
    named = re.compile(rf"^[ -]*(?:\w+: *)?[\"']?{re.escape(name)}[\"']? *$", re.MULTILINE)
    alike = (f"/{name}.yaml", f"/{name.partition('_')[0]}", "")
    files = (file for part in alike for file in harness_files() if part in file)
    texts = (Path(file).read_text(encoding="utf-8", errors="ignore") for file in files)
    return not harness_files() or any(map(named.search, texts))


def task_data_problems(key: str, source: Source) -> Iterator[str]:
    why = ": lm-evaluation-harness reads the rows itself"
    if source.kind not in TASK_DATA:
        yield f"{key}: received '{source.kind}:'; allowed here are {', '.join(TASK_DATA)}{why}"
    if source.path and not source.path.lower().endswith((".jsonl", ".jsonl.gz")):
        yield f"{key}.path: received {source.path!r}; allowed are .jsonl and .jsonl.gz files{why}"
    for part in ("fields", "names") if source.hub else ():
        if getattr(source.hub, part):
            yield (
                f"{key}.hub.{part}: templates name their fields, received "
                f"{getattr(source.hub, part)}; remove it"
            )
    if source.hub and source.hub.files:
        yield f"{key}.hub.files: received {source.hub.files!r}{why}; name a configuration instead"


def layout_problems(experiment: Experiment) -> Iterator[str]:
    room = experiment.evaluation.generation.context_length
    for name, task in experiment.evaluation.generation.tasks.items():
        where, kind = f"{GENERATION}.{name}", find_kind(task.kind)
        for option in ("max_new_tokens", "shots"):  # an example has at least one token
            if (getattr(task, option) or 0) >= room:
                yield (
                    f"{where}.{option}: {getattr(task, option)} leaves no room for a prompt"
                    f" (evaluation.generation.context_length: {room}); lower it"
                )
        yield from taught_by_problems(experiment, f"{where}.taught_by", task)
        changed = asked_as_taught(experiment, task).layout_changes()
        for problem in refused(kind.layout_in, task.direction, changed):
            yield f"{where}.direction {task.direction}: {problem}"
        metrics = [metric.name for metric in kind.metrics]
        if task.score is not None and task.score not in metrics:
            yield unknown(f"{where}.score", task.score, metrics, "metric of its kind")
        for part, text in (("pool", task.pool), ("test", task.test)):
            if text.heldout is None:
                continue
            yield from holds_out_nothing(experiment, f"{where}.{part}.heldout", text.heldout)
            corpus, languages = experiment.corpora.get(text.heldout), task.direction
            if corpus is not None and corpus.language not in languages:
                yield (
                    f"{where}.{part}.heldout: {text.heldout!r} is in {corpus.language!r}, the task"
                    f" in {' and '.join(map(repr, languages))}; name a corpus in its language"
                )


def taught_by_problems(experiment: Experiment, key: str, task: GenerationTask) -> Iterator[str]:
    corpus = experiment.corpora.get(task.taught_by or "")
    if corpus is None:
        return
    if task.layout is not None:
        yield f"{key}: the layout is the corpus's, and layout is given, too; give one of them"
    taught = corpus.translation.directions if corpus.translation else []
    if task.kind != TRANSLATION or tuple(task.direction) not in taught:
        listed = ", ".join(" ".join(direction) for direction in taught) or "no translation"
        yield (
            f"{key}: corpus {task.taught_by!r} teaches {listed}, and the task is of kind "
            f"{task.kind!r}, {' '.join(task.direction)}; name one that teaches it"
        )


def asked_as_taught(experiment: Experiment, task: GenerationTask) -> GenerationTask:
    """Return a task with the layout of the corpus that taught it, if it names one."""
    corpus = experiment.corpora.get(task.taught_by or "")
    if corpus is None or corpus.translation is None:
        return task
    return task.model_copy(update={"layout": corpus.translation.layout})


def unasked_layouts(experiment: Experiment) -> Iterator[str]:
    """Yield a warning for every way of asking that a mixture teaches, and that no task of the run
    group asks by.
    """
    asked = shown_scores(experiment)
    for group in experiment.runs:
        runs = [run for run in experiment.expanded.values() if run.group == group]
        named = {
            corpus
            for run in runs
            if run.recipe and run.mixture
            for mixture in (run.mixture, *run.stage_mixtures.values())
            for corpus in experiment.mixtures.get(mixture, ())
        }
        if not any(run.evaluate for run in runs):
            continue
        tasks = experiment.evaluation.generation.tasks
        asking = (
            asked_as_taught(experiment, tasks[name])
            for name in asked.get(group, set()) & tasks.keys()
        )
        ways = [way_of_asking(task.layout_changes()) for task in asking if task.kind == TRANSLATION]
        for corpus in sorted(named & experiment.corpora.keys()):
            taught = experiment.corpora[corpus].translation
            way = way_of_asking(taught.layout.given() if taught and taught.layout else {})
            if taught is not None and way not in ways:
                labels = ", ".join(way["labels"])
                yield (
                    f"runs.{group}: corpus {corpus!r} teaches to translate by "
                    f"{way['instruction']!r} with labels {labels}, and no task that tables show of"
                    f" the group asks so; give such a task 'taught_by: {corpus}'"
                )


def way_of_asking(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a prompt without examples is made of, words left out, of a translation's layout
    with these changes.
    """
    layout = replace(LAYOUT, **{key: changes[key] for key in changes.keys() - {"language"}})
    parts = ("instruction", "after_label", "before_text", "between_lines")
    named = {part: getattr(layout, part) for part in parts}
    return {**named, "labels": list(layout.labels), "language": changes.get("language")}


def template_problems(experiment: Experiment) -> Iterator[str]:
    choices = experiment.evaluation.multiple_choice
    own = Path(choices.templates) if choices.templates else None
    for name, task in choices.tasks.items():
        if task.template is None:
            continue
        key = f"{CHOICES}.{name}"
        try:
            path = find_template(task.template, own, f"{key}.template")
        except RevocabError as error:
            yield from error.problems
            continue
        filled = refused(
            lambda file, by: fill_words(load_template(file), file, by), path, task.language
        )
        yield from (f"{key}: {problem}" for problem in filled)


def holds_out_nothing(experiment: Experiment, key: str, name: str) -> Iterator[str]:
    corpus = experiment.corpora.get(name)
    if corpus is not None and not corpus.heldout_bytes:
        yield f"{key}: {name!r} holds out no text; give corpora.{name}.heldout_bytes"
