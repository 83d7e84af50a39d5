"""What a schema cannot say: ids that must exist, sums, and combinations that cannot work.

Every check yields problems; none raises, so that a user sees all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from revocab.closed import EVERY, unknown
from revocab.corpora.formats import data_files
from revocab.corpora.source import matching
from revocab.demoworld import CONVERSATIONS, WORLD_PARTS
from revocab.errors import RevocabError, refused
from revocab.evaluation.inference.engine import engines_for
from revocab.experiment.check_ids import check_names, wrong_references
from revocab.experiment.check_models import (
    check_answers,
    check_cycles,
    check_lengths,
    check_models,
    check_number_of_checkpoints,
    check_parameters,
    check_trainings,
)
from revocab.experiment.check_runs import check_identities, check_runs
from revocab.experiment.check_tasks import check_tasks, holds_out_nothing
from revocab.experiment.schema import Experiment, Source
from revocab.limits import ENTRIES
from revocab.models.folder import check_model_folder
from revocab.report.references import wrong_steps
from revocab.training.chat.template import read_template
from revocab.vocabulary.building.words import read_words
from revocab.vocabulary.tokenizers.load import tokenizer_file

#: What a path must name.
What = Literal["text", "pattern", "file", "folder", "model", "tokenizer", "words"]


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
        raise RevocabError(f"{path!r} does not exist; check the path or data_root")
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


def check_mixtures(experiment: Experiment) -> Iterator[str]:
    mixtures: dict[str, Mapping[str, Any]] = {
        f"mixtures.{name}": mixture for name, mixture in experiment.mixtures.items()
    }
    for name, tokenizer in experiment.tokenizers.items():
        built, options = tokenizer.construction()
        for option, mixture in options.named(options.mixtures):
            mixtures[f"tokenizers.{name}.{built}.{option}"] = mixture
    for key, mixture in mixtures.items():
        fixed = [share for share in mixture.values() if share != "size"]
        total, some_by_size = sum(fixed), len(fixed) < len(mixture)
        summands = " + ".join(f"{share:g}" for share in fixed) or "nothing"
        if some_by_size and total >= 1 - 1e-6:
            yield (
                f"{key}: shares sum to {total:g} ({summands}), which leaves nothing for the"
                " corpora with share 'size'; lower them below 1"
            )
        elif not some_by_size and abs(total - 1) > 1e-6:
            yield f"{key}: shares sum to {total:g} ({summands}); they must sum to 1"


def check_measured(experiment: Experiment) -> Iterator[str]:
    e, fertility, evaluation = experiment, experiment.fertility, experiment.evaluation
    for section in ("multiple_choice", "generation"):
        steps = getattr(evaluation, section).steps or ()
        named = [step for step in steps if step != EVERY]
        for group in e.runs:
            yield from wrong_steps(e, f"evaluation.{section}.steps", group, named)
    if bool(fertility.tokenizers) != bool(fertility.corpora):
        yield (
            f"fertility: {len(fertility.tokenizers)} tokenizers on {len(fertility.corpora)} "
            "corpora; name at least one of each, or none"
        )
    trained = [f"models.{name}" for name, model in e.models.items() if model.pretrain]
    trained += [run.key for run in e.expanded.values() if run.recipe]
    if trained and not evaluation.heldout:
        yield f"evaluation.heldout: names no corpus, but {trained[0]} is trained; name one"
    texts = [("evaluation.heldout", name) for name in evaluation.heldout]
    for section in ("efficiency", "adoption"):
        if options := getattr(evaluation, section):
            texts.append((f"evaluation.{section}.corpus", options.corpus))
    if fertility.split == "heldout":
        texts += [("fertility.corpora", name) for name in fertility.corpora]
    for key, name in texts:
        yield from holds_out_nothing(e, key, name)
    timed = engines_for("efficiency")
    if evaluation.efficiency and evaluation.generation.engine not in timed:
        yield (
            f"evaluation.generation.engine: {evaluation.generation.engine!r} cannot measure"
            f" evaluation.efficiency; use {' or '.join(timed)}, or leave out evaluation.efficiency"
            " and its tables"
        )


def check_tables_and_figures(experiment: Experiment, wrong: Sequence[str]) -> Iterator[str]:
    """Yield what tables and figures lack; of those with an id that names nothing, at one of the
    keys ``wrong``, nothing else is said.
    """
    for section in ("tables", "figures"):
        for name, options in getattr(experiment, section).items():
            if not any(key.startswith(f"{section}.{name}.") for key in wrong):
                yield from options.problems(experiment, f"{section}.{name}")


def check_parallel(experiment: Experiment) -> Iterator[str]:
    parallel, key = experiment.fertility.parallel, "fertility.parallel.languages"
    if parallel is None:
        return
    if len(set(parallel.languages)) < len(parallel.languages):
        yield f"{key}: {parallel.languages} has duplicates; name each once"
    if (known := parallel.source.lines) is not None:
        unnamed = (language for language in parallel.languages if language not in known)
        yield from (unknown(key, language, known, "language in lines") for language in unnamed)


def check(experiment: Experiment) -> list[str]:
    """Return every problem of a well-formed experiment, in a stable order. If the experiment is too
    large, that is the only problem reported.
    """
    if large := [*check_entries(experiment)] or [*check_number_of_checkpoints(experiment)]:
        return large
    wrong = [*wrong_references(experiment)]
    problems = [problem for _, problem in wrong]
    checks: tuple[Callable[[Experiment], Iterator[str]], ...] = (
        check_names,
        check_cycles,
        check_models,
        check_answers,
        check_mixtures,
        check_identities,
        check_runs,
        check_trainings,
        check_parameters,
        check_lengths,
        check_measured,
        partial(check_tables_and_figures, wrong=[key for key, _ in wrong]),
        check_parallel,
        check_sources,
        check_tasks,
    )
    for find in checks:
        # Where a file cannot be read, what was found before that stays.
        before: list[str] = []
        problems += refused(before.extend, find(experiment))
        problems += before
    return list(dict.fromkeys(problems))


def check_entries(experiment: Experiment) -> Iterator[str]:
    evaluation = experiment.evaluation
    sections = {name: getattr(experiment, name) for name in Experiment.model_fields}
    sections |= {
        f"evaluation.{name}.tasks": getattr(evaluation, name).tasks
        for name in ("multiple_choice", "generation")
    }
    for key, entries in sections.items():
        if isinstance(entries, dict | list) and len(entries) > ENTRIES:
            yield f"{key}: {len(entries):,} entries; give at most {ENTRIES:,} to one experiment"
