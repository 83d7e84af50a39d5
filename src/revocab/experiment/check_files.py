"""Checks that files exist, and that the generated world has the parts that are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from revocab.closed import unknown
from revocab.corpora.formats import data_files
from revocab.corpora.source import matching
from revocab.demoworld import CONVERSATIONS, WORLD_PARTS
from revocab.errors import RevocabError, refused
from revocab.experiment.schema import Experiment, Source
from revocab.models.folder import check_model_folder
from revocab.training.chat.template import read_template
from revocab.vocabulary.building.words import read_words
from revocab.vocabulary.tokenizers.load import tokenizer_file

#: What a path must name.
What = Literal["text", "pattern", "file", "folder", "model", "tokenizer", "words"]
#: Shipped experiments and published values by the names that version 0.1 had; errors say the new
#: ones for one version. (Snakemake reads ``--configfile`` before any code of ours: there the old
#: name is a file that is missing; ``revocab run`` looks first.)
MOVED = {
    "config/paper.yaml": "config/sava.yaml",
    "config/overlays/pico-paper.yaml": "config/overlays/pico-sava.yaml",
    "config/demo.yaml": "config/demos/demo.yaml",
    "config/lep-demo.yaml": "config/demos/lep.yaml",
    "config/vocadt-demo.yaml": "config/demos/vocadt.yaml",
    "config/bilingual-demo.yaml": "config/demos/bilingual.yaml",
    "config/local-data.yaml": "config/demos/local-data.yaml",
    "config/vocadt-local.yaml": "config/demos/vocadt-local.yaml",
    "config/bilingual-local.yaml": "config/demos/bilingual-local.yaml",
    "config/real.yaml": "config/demos/real.yaml",
    "config/one-gpu.yaml": "config/demos/one-gpu.yaml",
    "config/paper": "config/published/sava",
    "config/lep": "config/published/lep",
    "config/vocadt": "config/published/vocadt",
    "config/bilingual": "config/published/bilingual",
}


def moved(path: str | Path) -> str:
    """Return what an error on a missing file or folder adds where the path is an old name: the new
    one, in the same checkout; nothing for other paths.
    """
    parts = Path(path).parts
    for start in range(len(parts)):
        if new := MOVED.get("/".join(parts[start:])):
            return f"; it is {Path(*parts[:start], new)} now"
    return ""


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


def local_paths(experiment: Experiment) -> Iterator[tuple[str, str, What]]:
    named: list[tuple[str, str | None, What]] = []
    for key, source in sources(experiment):
        named += [
            (f"{key}.path", source.path, "text"),
            (f"{key}.pattern", source.pattern, "pattern"),
        ]
        lines = (source.lines or {}).items()
        named += [(f"{key}.lines.{language}", path, "file") for language, path in lines]
    templates = chat_templates(experiment)
    named += [(key, path, "file") for key, path in templates if under_data_root(path)]
    vectors = experiment.auxiliary.vectors if experiment.auxiliary else None
    templates_folder = experiment.evaluation.multiple_choice.templates
    named += [
        ("paper_values", experiment.paper_values, "folder"),
        ("auxiliary.vectors", vectors, "file"),
        ("evaluation.multiple_choice.templates", templates_folder, "folder"),
    ]
    named += [(f"models.{name}.path", one.path, "model") for name, one in experiment.models.items()]
    tokenizers = experiment.tokenizers.items()
    named += [(f"tokenizers.{name}.path", one.path, "tokenizer") for name, one in tokenizers]
    for name, tokenizer in tokenizers:
        built, options = tokenizer.construction()
        lists = options.named(options.lists)
        named += [(f"tokenizers.{name}.{built}.{option}", path, "words") for option, path in lists]
    yield from ((key, path, what) for key, path, what in named if path)


def check_place(path: str, what: What) -> None:
    """Raise :class:`RevocabError` where nothing of this kind lies at a path, and the errors of the
    file system.
    """
    if what != "pattern" and not Path(path).exists():
        advice = moved(path) or "; check the path or data_root"
        raise RevocabError(f"{path!r} does not exist{advice}")
    if what in ("text", "pattern"):
        for file in [path] if what == "text" else matching(path):
            data_files(file)
    elif what == "model":
        check_model_folder(path)
    elif what == "tokenizer" and not tokenizer_file(path).is_file():
        raise RevocabError(
            f"{path}: holds no tokenizer.json and no .tiktoken file; name a tokenizer's folder"
        )
    elif what in ("file", "words") and not Path(path).is_file():
        raise RevocabError(f"{path}: a folder, not a file; name the file")
    elif what == "words":
        read_words(Path(path))
    elif what == "folder" and not Path(path).is_dir():
        raise RevocabError(f"{path}: a file, not a folder; name the folder that holds it")


def check_sources(experiment: Experiment) -> Iterator[str]:
    needs_root = False
    for key, path, what in local_paths(experiment):
        if under_data_root(path):
            needs_root = True
        else:
            yield from (f"{key}: {problem}" for problem in refused(check_place, path, what))
    if needs_root:
        yield (
            "data_root: this experiment reads files under {data_root}, received none; "
            "add --config data_root=FOLDER"
        )
    world = experiment.world
    for key, source in sources(experiment):
        part = source.world
        if part and world is None:
            yield f"{key}: is of the generated world, but the file has no 'world:' section; add it"
        elif part and part not in WORLD_PARTS:
            yield unknown(key, part, WORLD_PARTS, "part of the world")
        elif part in CONVERSATIONS and world and not world.conversations:
            yield f"{key}.world: {part!r}, but world.conversations is 0; set their number"
    for key, named in chat_templates(experiment):
        problems = () if under_data_root(named) else refused(read_template, named)
        yield from (f"{key}: {problem.removeprefix('chat_template: ')}" for problem in problems)


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
