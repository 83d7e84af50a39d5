"""Checks on what an experiment reads: files that are there, and parts that the world has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revocab.chat.template import find_template
from revocab.closed import unknown
from revocab.config.schema import Experiment, Source
from revocab.corpora.source import matching
from revocab.demoworld.file_names import CONVERSATIONS, WORLD_PARTS
from revocab.errors import RevocabError


def sources(experiment: Experiment) -> Iterator[tuple[str, Source]]:
    for name, corpus in experiment.corpora.items():
        yield f"corpora.{name}.source", corpus.source
    for name, task in experiment.evaluation.multiple_choice.tasks.items():
        if task.data:
            yield f"evaluation.multiple_choice.tasks.{name}.data", task.data
    for name, generated in experiment.evaluation.generation.tasks.items():
        yield f"evaluation.generation.tasks.{name}.pool", generated.pool
        yield f"evaluation.generation.tasks.{name}.test", generated.test
    if experiment.fertility.parallel:
        yield "fertility.parallel.source", experiment.fertility.parallel.source


def local_paths(experiment: Experiment) -> Iterator[tuple[str, str]]:
    for key, source in sources(experiment):
        if source.path:
            yield f"{key}.path", source.path
        for language, path in (source.lines or {}).items():
            yield f"{key}.lines.{language}", path
    for section in ("tokenizers", "models"):
        for name, entry in getattr(experiment, section).items():
            if entry.path:
                yield f"{section}.{name}.path", entry.path
    for name, entry in experiment.tokenizers.items():
        if entry.substitute and entry.substitute.path:
            yield f"tokenizers.{name}.substitute.path", entry.substitute.path
    yield from ((key, path) for key, path in chat_templates(experiment) if under_data_root(path))
    if experiment.paper_values:
        yield "paper_values", experiment.paper_values
    if experiment.auxiliary and experiment.auxiliary.vectors:
        yield "auxiliary.vectors", experiment.auxiliary.vectors
    if experiment.evaluation.multiple_choice.templates:
        yield (
            "evaluation.multiple_choice.templates",
            experiment.evaluation.multiple_choice.templates,
        )


def check_sources(experiment: Experiment) -> Iterator[str]:
    needs_root = False
    patterns = [(key, source.pattern) for key, source in sources(experiment) if source.pattern]
    for key, path in local_paths(experiment):
        if under_data_root(path):
            needs_root = True
        elif not Path(path).exists():
            yield f"{key}: {path!r} does not exist; check the path or data_root"
    for key, pattern in patterns:
        if under_data_root(pattern):
            needs_root = True
            continue
        try:
            matching(pattern)
        except RevocabError as error:
            yield from (f"{key}.pattern: {problem}" for problem in error.problems)
    if needs_root:
        yield (
            "data_root: this experiment reads files under {data_root}, received none; "
            "add --config data_root=FOLDER"
        )
    for key, source in sources(experiment):
        if source.world and experiment.world is None:
            yield f"{key}: refers to the generated world, but the file has no 'world:' section"
        elif source.world and source.world not in WORLD_PARTS:
            yield unknown(key, source.world, WORLD_PARTS, "part of the world")
    yield from template_problems(experiment)
    world = experiment.world
    for name, corpus in experiment.corpora.items():
        part = corpus.source.world or ""
        if world is not None and not world.conversations and part in CONVERSATIONS:
            yield (
                f"corpora.{name}.source.world: {part!r}, but world.conversations is 0; give"
                " their number"
            )


def template_problems(experiment: Experiment) -> Iterator[str]:
    for key, named in chat_templates(experiment):
        if not under_data_root(named):
            try:
                find_template(named)
            except RevocabError as error:
                yield from (
                    f"{key}: {problem.removeprefix('chat_template: ')}"
                    for problem in error.problems
                )


def chat_templates(experiment: Experiment) -> Iterator[tuple[str, str]]:
    for name, tokenizer in experiment.tokenizers.items():
        built, options = tokenizer.construction()
        for option, template in options.named(options.templates):
            yield f"tokenizers.{name}.{built}.{option}", template
    for name, recipe in experiment.recipes.items():
        if recipe.chat_template:
            yield f"recipes.{name}.chat_template", recipe.chat_template
    for name, group in experiment.runs.items():
        if group.chat and group.chat.template:
            yield f"runs.{name}.chat.template", group.chat.template
    for name, corpus in experiment.corpora.items():
        if corpus.answers and corpus.answers.chat_template:
            yield f"corpora.{name}.answers.chat_template", corpus.answers.chat_template


def under_data_root(path: str) -> bool:
    return "{data_root}" in path
