"""Checks on runs: what they need, and what they start from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from revocab.closed import BEST, RunStep, unknown
from revocab.experiment.expand import BASE, PARENTS, Run, needed_pairs, parents, tokenizer_of
from revocab.experiment.schema import Experiment, RunGroup
from revocab.initialise.method import methods
from revocab.report.runs import task_languages


def check_runs(experiment: Experiment) -> Iterator[str]:
    for group_id, group in experiment.runs.items():
        yield from group_problems(experiment, group_id, group)
    for run in experiment.expanded.values():
        if run.made and run.name == BASE:
            yield f"{run.key}: the base model is always scored; remove this entry"
        elif run.made:
            yield from run_problems(experiment, run)


def group_problems(experiment: Experiment, group_id: str, group: RunGroup) -> Iterator[str]:
    runs = [run for run in experiment.expanded.values() if run.made and run.group == group_id]
    steps = sorted({step for run in runs for step in run.steps} - {0})
    for step in sorted({*group.paper_steps} - {*steps, 0}) if steps else ():
        yield (
            f"runs.{group_id}.paper_steps: {step} is not a checkpoint of a run of group"
            f" {group_id!r} (checkpoints: {', '.join(map(str, steps))})"
        )
    # Runs that replicates start from or read may be replicates themselves.
    apart = {"seed", *PARENTS}
    first: dict[str, str] = {}
    seeds: dict[tuple[str, int | None], str] = {}
    for name, entry in group.methods.items():
        replicated, key = entry.replicate_of, f"runs.{group_id}.methods.{name}.replicate_of"
        if replicated is None:
            continue
        if replicated in group.methods:
            yield f"{key}: {replicated!r} is a run of the group itself; give another name"
        other = first.setdefault(replicated, name)
        if entry.model_dump(exclude=apart) != group.methods[other].model_dump(exclude=apart):
            yield f"{key}: {name!r} differs from {other!r} in more than its seed; rename it"
        same = seeds.setdefault((replicated, entry.seed), name)
        if same != name:
            yield f"{key}: {same!r} already has the seed {entry.seed}; give another"
    known = set[str]().union(*task_languages(experiment).values())
    for language in group.languages or ():
        if language not in known:
            yield unknown(f"runs.{group_id}.languages", language, known, "language with tasks")


def run_problems(experiment: Experiment, run: Run) -> Iterator[str]:
    group, method = experiment.runs[run.group], methods()[run.method]
    entry, what = group.methods[run.name], f"method {run.method!r}"
    keeps, before, vectors = method.keeps_vocabulary, run.source_tokenizer, experiment.auxiliary
    recipe: Any = experiment.recipes.get(run.recipe or "")
    helper, helped = tokenizer_of(experiment, run.helper), method.needs(entry) == "helper"
    fitting = [name for name, model in experiment.models.items() if model.tokenizer == run.target]
    start = f"run {entry.start.run!r}" if entry.start else f"model {group.source!r}"
    saying = [name for name, known in methods().items() if known.source_weights]
    faults = (
        (
            not group.says(run.name, "recipe"), ".recipe",
            "not given here or in the group; name one, or null for no training",
        ),
        (
            run.recipe and not run.mixture, ".mixture",
            "not given here or in the group, but the run is trained; name one",
        ),
        (
            not (keeps or run.target), ".target",
            "not given here or in the group; name the tokenizer of the new rows",
        ),
        (
            keeps and entry.target, ".target",
            f"{what} keeps the vocabulary, received {entry.target!r}; remove it or choose another"
            " method",
        ),
        (
            not keeps and before and before == run.target, ".target",
            f"{start} already has tokenizer {before!r}, and {what} replaces it; name another"
            " target, or use method 'lapt', which keeps it",
        ),
        (entry.donor and not method.needs_donor, ".donor", f"{what} reads no other run; remove it"),
        (
            method.needs_donor and not entry.donor, "",
            f"{what} needs 'donor: {{run: ID, step: last}}', the run whose rows it copies; received"
            " none",
        ),
        (
            run.auxiliary and not (vectors and vectors.corpora), ".auxiliary",
            "'fasttext' trains vectors, but the file names no text for them; add 'auxiliary:"
            " {corpora: [...]}', or use 'helper'",
        ),
        (
            run.vectors and not (vectors and vectors.vectors), ".auxiliary",
            "'file' reads a file of vectors by token text, but none is named; add 'auxiliary:"
            " {vectors: FILE}', or use 'helper'",
        ),
        (entry.helper and not helped, ".helper", f"{what} reads no helper model; remove it"),
        (
            helped and run.helper is None, "",
            f"{what} needs a helper model with tokens of the target tokenizer {run.target!r},"
            " received none; set 'helper:' here or in the group (with that tokenizer:"
            f" {', '.join(fitting) or 'none is defined'})",
        ),
        (
            helped and method.takes_helper_rows and helper not in (None, run.target), "",
            f"{what} copies rows of helper {run.helper!r}, whose tokenizer is {helper!r}, not the"
            f" target {run.target!r}; name a helper with {run.target!r}",
        ),
        (
            helped and not method.takes_helper_rows and helper and helper == before != run.target,
            "", f"helper {run.helper!r} uses tokenizer {helper!r}, the source's, so it has none of"
            f" the new tokens of {run.target!r}; name a helper with another tokenizer",
        ),
        (
            recipe and recipe.adapter and method.source_weights is None, ".recipe",
            f"{run.recipe!r} trains vocabulary adapters, which combine source rows, but {what} does"
            f" not say which rows to combine; use {', '.join(saying)}, or another recipe",
        ),
        (
            recipe and recipe.trains_new_rows and keeps, ".recipe",
            f"{run.recipe!r} trains new_rows, but {what} makes none; move that stage to the recipe"
            " of the run that makes them",
        ),
    )  # fmt: skip
    yield from (f"{run.key}{key}: {text}" for wrong, key, text in faults if wrong)
    for which, named in parents(entry):
        yield from checkpoint_problems(experiment, f"{run.key}.{which}", named)


def checkpoint_problems(experiment: Experiment, key: str, named: RunStep) -> Iterator[str]:
    run = experiment.expanded.get(named.run)
    if run is None:
        yield unknown(f"{key}.run", named.run, experiment.expanded, "run")
        return
    recipe = experiment.recipes.get(run.recipe or "")
    if named.step == BEST:
        if not (recipe and recipe.keep_best):
            yield (
                f"{key}.step: run {named.run!r} keeps no best checkpoint; set keep_best: true in"
                " its recipe, or name another step"
            )
        return
    if named.step in (0, "last") or run.select([named.step]) not in ([], [0]):
        return
    names = [*map(str, run.steps), *(["first", "last", *run.stage_ends] if run.trains else [])]
    yield f"{key}.step: run {named.run!r} has no checkpoint {named.step!r} (it has: " + (
        f"{', '.join(names)})"
    )


def check_identities(experiment: Experiment) -> Iterator[str]:
    first: dict[tuple[str, str], str] = {}
    runs, order = [run for run in experiment.expanded.values() if run.made], [*experiment.runs]
    needed = dict.fromkeys(needed_pairs(experiment, runs))
    for pair, group in sorted(needed, key=lambda pair: order.index(pair[1])):
        other = first.setdefault(pair, group)
        identity, before = (experiment.runs[side].identity for side in (group, other))
        if identity != before:
            yield (
                f"runs.{group}.identity: {identity!r}, but runs.{other} compares the same"
                f" tokenizers {' and '.join(map(repr, pair))} by {before!r}; give both groups the"
                " same identity"
            )
