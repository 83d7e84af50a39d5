"""Checks on runs: what they need, and what they start from."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.closed import BEST, RunStep, unknown
from revocab.config.expand import Run
from revocab.config.lineage import (
    BASE,
    PARENTS,
    needed_pairs,
    parents,
    run_steps,
    selected,
    tokenizer_of,
)
from revocab.config.schema import Experiment, RunGroup
from revocab.initialise.method import Method, methods
from revocab.report.references import task_languages


def check_runs(experiment: Experiment) -> Iterator[str]:
    yield from _pretraining(experiment)
    for group_id, group in experiment.runs.items():
        yield from _paper_steps(experiment, group_id, group)
        yield from _replicates(group_id, group)
        yield from _languages(experiment, group_id, group)
    for run in experiment.expanded.values():
        if not run.made:
            continue
        group, method = experiment.runs[run.group], methods()[run.method]
        entry = group.methods[run.name]
        if run.name == BASE:
            yield f"{run.key}: the base model is always scored; remove this entry"
            continue
        yield from _missing(run, group, method)
        for which, named in parents(entry):
            yield from checkpoint_problems(experiment, f"{run.key}.{which}", named)
        if method.needs_donor != (entry.donor is not None):
            yield (
                f"{run.key}.donor: method {method.name!r} reads no other run; remove it"
                if entry.donor
                else f"{run.key}: method {method.name!r} needs 'donor: {{run: ID, step: last}}', "
                "the run whose rows it copies; received none"
            )
        yield from _auxiliary(experiment, run)
        yield from _helper(experiment, run, method)
        yield from _adapters(experiment, run, method)
        before = run.source_tokenizer
        if not method.keeps_vocabulary and before and before == run.target:
            where = f"run {entry.start.run!r}" if entry.start else f"model {group.source!r}"
            yield (
                f"{run.key}.target: {where} already has tokenizer {before!r}, and method"
                f" {method.name!r} replaces it; name another target, or use method 'lapt',"
                " which keeps it"
            )


def _missing(run: Run, group: RunGroup, method: Method) -> Iterator[str]:
    key, target = run.key, group.methods[run.name].target
    if not group.says(run.name, "recipe"):
        yield f"{key}.recipe: not given here or in the group; name one, or null for no training"
    elif run.recipe and not run.mixture:
        yield f"{key}.mixture: not given here or in the group, but the run is trained; name one"
    if not method.keeps_vocabulary and not run.target:
        yield f"{key}.target: not given here or in the group; name the tokenizer of the new rows"
    if method.keeps_vocabulary and target is not None:
        yield (
            f"{key}.target: method {method.name!r} keeps the vocabulary, received {target!r};"
            " remove it or choose another method"
        )


def _auxiliary(experiment: Experiment, run: Run) -> Iterator[str]:
    sources = experiment.auxiliary
    if run.auxiliary and not (sources and sources.corpora):
        yield (
            f"{run.key}.auxiliary: 'fasttext' trains vectors, but the file names no text "
            "for them; add 'auxiliary: {corpora: [...]}', or use 'helper'"
        )
    if run.vectors and not (sources and sources.vectors):
        yield (
            f"{run.key}.auxiliary: 'file' reads a file of vectors by token text, but none is named;"
            " add 'auxiliary: {vectors: FILE}', or use 'helper'"
        )


def _helper(experiment: Experiment, run: Run, method: Method) -> Iterator[str]:
    entry = experiment.runs[run.group].methods[run.name]
    if method.needs(entry) != "helper":
        if entry.helper is not None:
            yield f"{run.key}.helper: method {method.name!r} reads no helper model; remove it"
        return
    tokenizer = tokenizer_of(experiment, run.helper)
    if run.helper is None:
        fitting = [
            name for name, model in experiment.models.items() if model.tokenizer == run.target
        ]
        yield (
            f"{run.key}: method {method.name!r} needs a helper model with tokens of the target "
            f"tokenizer {run.target!r}, received none; set 'helper:' here or in the group "
            f"(with that tokenizer: {', '.join(fitting) or 'none is defined'})"
        )
    elif tokenizer not in (None, run.target) and method.takes_helper_rows:
        yield (
            f"{run.key}: method {method.name!r} copies rows of helper {run.helper!r}, whose"
            f" tokenizer is {tokenizer!r}, not the target {run.target!r}; name a helper with"
            f" {run.target!r}"
        )
    elif tokenizer is not None and tokenizer == run.source_tokenizer != run.target:
        yield (
            f"{run.key}: helper {run.helper!r} uses tokenizer {tokenizer!r}, the source's, so it"
            f" has none of the new tokens of {run.target!r}; name a helper with another tokenizer"
        )


def _adapters(experiment: Experiment, run: Run, method: Method) -> Iterator[str]:
    recipe = experiment.recipes.get(run.recipe or "")
    if recipe and recipe.adapter and method.source_weights is None:
        saying = [name for name, known in methods().items() if known.source_weights]
        yield (
            f"{run.key}.recipe: {run.recipe!r} trains vocabulary adapters, which combine source"
            f" rows, but method {method.name!r} does not say which rows to combine; use"
            f" {', '.join(saying)}, or another recipe"
        )
    if recipe and recipe.trains_new_rows and method.keeps_vocabulary:
        yield (
            f"{run.key}.recipe: {run.recipe!r} trains new_rows, but method {method.name!r} makes"
            " none; move that stage to the recipe of the run that makes them"
        )


def _pretraining(experiment: Experiment) -> Iterator[str]:
    for name, model in experiment.models.items():
        recipe = experiment.recipes.get(model.pretrain.recipe) if model.pretrain else None
        if not (model.pretrain and recipe):
            continue
        what = "trains new_rows" if recipe.trains_new_rows else None
        if recipe.adapter:
            what = "trains vocabulary adapters, which combine a source's rows"
        if what:
            yield (
                f"models.{name}.pretrain.recipe: {model.pretrain.recipe!r} {what}, but a stand-in"
                " has no source; name another recipe"
            )


def _paper_steps(experiment: Experiment, group_id: str, group: RunGroup) -> Iterator[str]:
    runs = [run for run in experiment.expanded.values() if run.made and run.group == group_id]
    known = sorted({step for run in runs for step in run.steps} - {0})
    for step in sorted({*group.paper_steps} - {*known, 0}) if known else ():
        yield (
            f"runs.{group_id}.paper_steps: {step} is not a checkpoint of a run of group"
            f" {group_id!r} (checkpoints: {', '.join(map(str, known))})"
        )


def _languages(experiment: Experiment, group_id: str, group: RunGroup) -> Iterator[str]:
    known = set[str]().union(*task_languages(experiment).values())
    for language in group.languages or ():
        if language not in known:
            yield unknown(f"runs.{group_id}.languages", language, known, "language with tasks")


def _replicates(group_id: str, group: RunGroup) -> Iterator[str]:
    """Runs that replicates start from or read may be replicates themselves."""
    apart = {"seed", *PARENTS}
    first: dict[str, str] = {}
    seeds: dict[tuple[str, int | None], str] = {}
    for name, entry in group.methods.items():
        shown, key = entry.replicate_of, f"runs.{group_id}.methods.{name}.replicate_of"
        if shown is None:
            continue
        if shown in group.methods:
            yield f"{key}: {shown!r} is a run of the group itself; give another name"
        other = first.setdefault(shown, name)
        if entry.model_dump(exclude=apart) != group.methods[other].model_dump(exclude=apart):
            yield f"{key}: {name!r} differs from {other!r} in more than its seed; rename it"
        same = seeds.setdefault((shown, entry.seed), name)
        if same != name:
            yield f"{key}: {same!r} already has the seed {entry.seed}; give another"


def checkpoint_problems(experiment: Experiment, key: str, named: RunStep) -> Iterator[str]:
    run = experiment.expanded.get(named.run)
    if run is None:
        yield unknown(f"{key}.run", named.run, experiment.expanded, "run")
        return
    if named.step == BEST:
        recipe = experiment.recipes.get(run.recipe or "")
        if not (recipe and recipe.keep_best):
            yield (
                f"{key}.step: run {named.run!r} keeps no best checkpoint; set keep_best: true in"
                " its recipe, or name another step"
            )
        return
    steps, ends = run_steps(experiment, named.run)
    if named.step in (0, "last") or selected(steps, ends, [named.step]) not in ([], [0]):
        return
    names = [str(step) for step in steps] + (["first", "last", *ends] if len(steps) > 1 else [])
    yield f"{key}.step: run {named.run!r} has no checkpoint {named.step!r} (it has: " + (
        f"{', '.join(names)})"
    )


def check_identities(experiment: Experiment) -> Iterator[str]:
    first: dict[tuple[str, str], str] = {}
    runs = [run for run in experiment.expanded.values() if run.made]
    order = list(experiment.runs)
    needed = dict.fromkeys(needed_pairs(experiment, runs))
    for pair, group in sorted(needed, key=lambda pair: order.index(pair[1])):
        other = first.setdefault(pair, group)
        identity, before = (experiment.runs[side].identity for side in (group, other))
        if identity != before:
            yield (
                f"runs.{group}.identity: {identity!r}, but runs.{other} compares the same "
                f"tokenizers {' and '.join(map(repr, pair))} by {before!r}; give"
                " both groups the same identity"
            )
