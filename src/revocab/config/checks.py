"""What a schema cannot say: ids that must exist, sums, and combinations that cannot work.

Every check yields problems; none raises, so that a user sees all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from revocab.closed import problems_of, unknown
from revocab.config.check_answers import check_answers
from revocab.config.check_best import check_best
from revocab.config.check_chat import chat_templates, check_chat, under_data_root
from revocab.config.check_models import bodies, check_models
from revocab.config.check_names import check_names
from revocab.config.check_probes import check_probes
from revocab.config.check_references import check_references
from revocab.config.check_runs import check_runs
from revocab.config.check_task_texts import check_task_texts
from revocab.config.check_tokenizers import check_tokenizers
from revocab.config.check_unread import check_unread
from revocab.config.check_words import check_words
from revocab.config.lineage import BASE, method_name, run_id, tokenizer_before
from revocab.config.pairs import check_identities
from revocab.config.schema import Experiment, Source
from revocab.config.schema.data import Tokenizer
from revocab.corpora.source import matching
from revocab.demoworld.file_names import WORLD_PARTS
from revocab.errors import RevocabError
from revocab.evaluation.inference.engine import AUTO, engines_for
from revocab.initialise.method import methods
from revocab.report.references import wrong_steps


def check_mixtures(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every set of shares that does not sum to 1."""
    yield from share_problems(experiment.mixtures, experiment.tokenizers)


def share_problems(
    mixtures: Mapping[str, Mapping[str, float | Literal["size"]]],
    tokenizers: Mapping[str, Tokenizer],
) -> Iterator[str]:
    """Yield a problem for every set of shares that does not sum to 1, wherever one stands."""
    shares = {f"mixtures.{name}": mixture for name, mixture in mixtures.items()}
    for name, tokenizer in tokenizers.items():
        built, options = tokenizer.construction()
        for option, mixture in options.given_mixtures():
            shares[f"tokenizers.{name}.{built}.{option}"] = mixture
    for key, given_shares in shares.items():
        fixed = [share for share in given_shares.values() if share != "size"]
        total = sum(fixed)
        given = " + ".join(f"{share:g}" for share in fixed) or "nothing"
        if len(fixed) < len(given_shares):
            if total >= 1 - 1e-6:
                yield (
                    f"{key}: shares sum to {total:g} ({given}), which leaves nothing for the"
                    " corpora with share 'size'; lower them below 1"
                )
        elif abs(total - 1) > 1e-6:
            yield f"{key}: shares sum to {total:g} ({given}); they must sum to 1"


def check_methods(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every unknown method, misspelt option, or missing or unfitting helper."""
    known = {name: one for name, one in methods().items() if one.trains}
    for group_name, group in experiment.runs.items():
        for name, entry in group.methods.items():
            key = f"runs.{group_name}.methods.{name}"
            wanted = method_name(name, entry)
            if name == BASE:
                yield f"{key}: the base model is always scored; remove this entry"
                continue
            if wanted not in known:
                yield unknown(key, wanted, known, "method") + (
                    "" if entry.method else "; name it with 'method:' if this is only a run's name"
                )
                continue
            method = known[wanted]
            options = None
            try:
                options = method.options(**entry.options)
            except ValidationError as error:
                yield from problems_of(error, method.options, key)
            needed = method.needs(options)
            yield from check_auxiliary(experiment, key, needed)
            if needed == "helper":
                yield from check_helper(experiment, key, group_name, name)


def check_auxiliary(experiment: Experiment, key: str, needed: str | None) -> Iterator[str]:
    """Yield a problem if a run compares tokens in vectors that the file does not name."""
    given = experiment.auxiliary
    if needed == "fasttext" and not (given and given.corpora):
        yield (
            f"{key}.auxiliary: 'fasttext' needs vectors to train, and the file names no text for "
            "them; add 'auxiliary: {corpora: [...]}', or use 'helper'"
        )
    if needed == "file" and not (given and given.vectors):
        yield (
            f"{key}.auxiliary: 'file' needs a file of vectors by token text, and none is named; add"
            " 'auxiliary: {vectors: FILE}', or use 'helper'"
        )


def check_helper(experiment: Experiment, key: str, group_id: str, name: str) -> Iterator[str]:
    """Yield a problem if the helper of a run is missing, or has none of the new tokens."""
    group = experiment.runs[group_id]
    method = method_name(name, group.methods[name])
    helper, target = (group.setting(name, one) for one in ("helper", "target"))
    if helper is None:
        fitting = [one for one, model in experiment.models.items() if model.tokenizer == target]
        yield (
            f"{key}: method {method!r} needs a helper model that has tokens of the target "
            f"tokenizer {target!r}, received none; set 'helper:' here or in the group "
            f"(with that tokenizer: {', '.join(fitting) or 'none is defined'})"
        )
    elif helper in experiment.models:
        tokenizer = experiment.models[helper].tokenizer
        if tokenizer != target and methods()[method].takes_helper_rows:
            yield (
                f"{key}: method {method!r} takes rows of helper {helper!r}, whose tokenizer is"
                f" {tokenizer!r}, not the target {target!r}; take a helper that has it"
            )
        elif tokenizer == tokenizer_before(experiment, run_id(group_id, name)) != target:
            yield (
                f"{key}: helper {helper!r} uses tokenizer {tokenizer!r}, the source's, and so has "
                f"none of the new tokens of {target!r}; take a helper of another tokenizer"
            )


def check_lengths(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every text that is longer than a stand-in's context."""
    e = experiment
    for name, model in e.models.items():
        if model.pretrain is None:
            continue
        adapted = [group for group in e.runs.values() if bodies(e, group.source)[-1] == name]
        recipes = {model.pretrain.recipe}
        recipes |= {one.setting(run, "recipe") for one in adapted for run in one.methods}
        lengths = {
            f"recipes.{one}.sequence_length": e.recipes[one].sequence_length
            for one in sorted(filter(None, recipes))
            if one in e.recipes
        }
        if adapted:
            generated = e.evaluation.generation.context_length
            lengths["evaluation.generation.context_length"] = generated
        allowed = model.pretrain.context_length
        for key, length in lengths.items():
            if length > allowed:
                yield (
                    f"models.{name}.pretrain.context_length: {allowed} tokens, but {key} is"
                    f" {length}; raise the first or lower the second"
                )


def check_recipes(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every warm-up or interval longer than what it is part of."""
    for name, recipe in experiment.recipes.items():
        for key in ("checkpoint_every", "heldout_every"):
            every = getattr(recipe, key)
            if every is not None and every > recipe.steps:
                yield (
                    f"recipes.{name}.{key}: {every} is more than the {recipe.steps} steps; choose "
                    f"at most {recipe.steps}"
                )
        if recipe.warmup_steps >= recipe.steps:
            yield f"recipes.{name}.warmup_steps: {recipe.warmup_steps} must be below {recipe.steps}"
        for stage in recipe.stages or ():
            if stage.warmup_steps >= stage.steps:
                yield (
                    f"recipes.{name}.stages.{stage.name}.warmup_steps: {stage.warmup_steps} must "
                    f"be below {stage.steps}"
                )


def check_measured(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for a section that names one half of what is measured, and for trainings
    without held-out text.
    """
    e = experiment
    if bool(e.fertility.tokenizers) != bool(e.fertility.corpora):
        yield (
            f"fertility: {len(e.fertility.tokenizers)} tokenizers on {len(e.fertility.corpora)} "
            "corpora; name at least one of each, or none"
        )
    trained = [f"models.{name}" for name, model in e.models.items() if model.pretrain]
    trained += [
        f"runs.{group}.methods.{name}"
        for group, one in e.runs.items()
        for name in one.methods
        if one.setting(name, "recipe")
    ]
    if trained and not e.evaluation.heldout:
        yield f"evaluation.heldout: names no corpus, and {trained[0]} is trained; name one"


def check_scored_steps(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every step at which scores are wanted that is not a checkpoint."""
    for section in ("multiple_choice", "generation"):
        steps = getattr(experiment.evaluation, section).steps or ()
        for group in experiment.runs:
            yield from wrong_steps(experiment, f"evaluation.{section}.steps", group, steps)


def check_engines(experiment: Experiment) -> Iterator[str]:
    """Yield a problem if the engine of generation cannot be timed, and speed is measured."""
    engine, timed = experiment.evaluation.generation.engine, (AUTO, *engines_for("efficiency"))
    if experiment.evaluation.efficiency and engine not in timed:
        yield (
            f"evaluation.generation.engine: {engine!r} cannot measure evaluation.efficiency; use "
            f"{' or '.join(timed)}, or leave out evaluation.efficiency and its tables"
        )


def check_tables_and_figures(experiment: Experiment) -> Iterator[str]:
    """Yield what every table and figure lacks; its kind knows."""
    for section in ("tables", "figures"):
        for name, options in getattr(experiment, section).items():
            yield from options.problems(experiment, f"{section}.{name}")


def check_parallel(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for languages that repeat, and those that the parallel text lacks."""
    parallel = experiment.fertility.parallel
    if parallel is None:
        return
    if len(set(parallel.languages)) < len(parallel.languages):
        yield f"fertility.parallel.languages: {parallel.languages} repeats one; name each once"
    known = parallel.source.lines
    if known is not None:
        for language in parallel.languages:
            if language not in known:
                yield unknown("fertility.parallel.languages", language, known, "language in lines")


def sources(experiment: Experiment) -> Iterator[tuple[str, Source]]:
    """Yield every data source with its key."""
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
    """Yield every local path of the experiment with its key, as written."""
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
    yield from (one for one in chat_templates(experiment) if under_data_root(one[1]))
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
    """Yield a problem for every file that is not there and every part the world does not have."""
    needs_root = False
    patterns = [(key, one.pattern) for key, one in sources(experiment) if one.pattern]
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
            yield from (f"{key}.pattern: {one}" for one in error.problems)
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


#: In the order in which their problems are told.
CHECKS: tuple[Callable[[Experiment], Iterator[str]], ...] = (
    check_references,
    check_names,
    check_tokenizers,
    check_models,
    check_answers,
    check_mixtures,
    check_methods,
    check_identities,
    check_runs,
    check_recipes,
    check_chat,
    check_best,
    check_lengths,
    check_scored_steps,
    check_measured,
    check_engines,
    check_tables_and_figures,
    check_parallel,
    check_unread,
    check_sources,
    check_words,
    check_probes,
    check_task_texts,
)


def all_problems(experiment: Experiment) -> list[str]:
    """Return every problem of a well-formed experiment, in a stable order."""
    return list(dict.fromkeys(problem for check in CHECKS for problem in check(experiment)))
