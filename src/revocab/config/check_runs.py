"""Checks on runs: what they need, what they begin with, and that this ends."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.closed import BEST, RunStep, unknown
from revocab.config.lineage import (
    PARENTS,
    first_cycle,
    keeps_best,
    method_of,
    parent_runs,
    parents,
    run_id,
    run_ids,
    run_steps,
    selected,
    tokenizer_after,
    tokenizer_before,
)
from revocab.config.schema import Experiment, RunGroup
from revocab.config.schema.runs import Layered
from revocab.initialise.method import Method, methods
from revocab.report.asked import task_languages


def run_references(experiment: Experiment) -> Iterator[tuple[str, str, str]]:
    """Yield the (key, id, kind of thing) that run groups and their runs refer to."""
    kinds = {"target": "tokenizer", "mixture": "mixture", "recipe": "recipe", "helper": "model"}
    for group_id, group in experiment.runs.items():
        yield f"runs.{group_id}.source", group.source, "model"
        settings: list[tuple[str, Layered]] = [(f"runs.{group_id}", group)]
        settings += [(f"runs.{group_id}.methods.{n}", one) for n, one in group.methods.items()]
        for key, given in settings:
            for name, kind in kinds.items():
                if getattr(given, name) is not None:
                    yield f"{key}.{name}", getattr(given, name), kind
        for name, one in group.references.items():
            yield f"runs.{group_id}.references.{name}.model", one.model, "model"


def check_runs(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every run that lacks something, or begins with what is not there."""
    yield from _pretraining(experiment)
    cyclic = set()
    for problem, runs in _cycles(experiment):
        cyclic |= runs
        yield problem
    known = run_ids(experiment)
    for group_id, group in experiment.runs.items():
        yield from _paper_steps(experiment, group_id, group)
        yield from _replicates(group_id, group)
        yield from _languages(experiment, group_id, group)
        for name, entry in group.methods.items():
            key = f"runs.{group_id}.methods.{name}"
            yield from _missing(key, group, name)
            for which, named in parents(entry):
                yield from checkpoint_problems(experiment, f"{key}.{which}", named, known)
            method = method_of(group, name)
            if method.needs_donor != (entry.donor is not None):
                yield (
                    f"{key}.donor: method {method.name!r} reads no other run; remove it"
                    if entry.donor
                    else f"{key}: method {method.name!r} needs 'donor: {{run: ID, step: last}}', "
                    "the run whose rows it takes over; received none"
                )
            yield from _adapters(experiment, key, group, name, method)
            run = f"{group_id}-{name}"
            if run not in cyclic:
                yield from _tokenizers(experiment, key, group, name, run)


def _adapters(
    experiment: Experiment, key: str, group: RunGroup, name: str, method: Method
) -> Iterator[str]:
    """Yield a problem for vocabulary adapters without a method that they can start from."""
    recipe = group.setting(name, "recipe")
    given = experiment.recipes.get(recipe)
    if given and given.adapter and method.source_weights is None:
        saying = [known for known, one in methods().items() if one.source_weights]
        yield (
            f"{key}.recipe: {recipe!r} trains vocabulary adapters, combinations of source rows, and"
            f" method {method.name!r} does not say which its rows combine; use {', '.join(saying)},"
            " or another recipe"
        )


def _pretraining(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for vocabulary adapters of a stand-in, which has no source."""
    for name, model in experiment.models.items():
        given = experiment.recipes.get(model.pretrain.recipe) if model.pretrain else None
        if model.pretrain and given and given.adapter:
            yield (
                f"models.{name}.pretrain.recipe: {model.pretrain.recipe!r} trains vocabulary"
                " adapters, combinations of a source's rows, and a stand-in has no source; name"
                " another recipe"
            )


def _cycles(experiment: Experiment) -> Iterator[tuple[str, set[str]]]:
    """Yield a problem for every ring of runs, and the runs in it."""
    children = parent_runs(experiment)
    reported: set[str] = set()
    for run in children:
        path = first_cycle(children, run)
        if path and not reported & {*path}:
            reported |= {*path}
            yield (
                f"runs: {run} builds on itself ({' from '.join(path)}); give one of them another "
                "start or donor",
                {*path},
            )


def _paper_steps(experiment: Experiment, group_id: str, group: RunGroup) -> Iterator[str]:
    """Yield a problem for every step with published values that no trained run of a group has."""
    found = {step for n in group.methods for step in run_steps(experiment, run_id(group_id, n))[0]}
    for step in sorted({*group.paper_steps} - found) if found - {0} else ():
        yield (
            f"runs.{group_id}.paper_steps: {step} is not a checkpoint of a run of group"
            f" {group_id!r} "
            f"(checkpoints: {', '.join(map(str, sorted(found - {0})))})"
        )


def _languages(experiment: Experiment, group_id: str, group: RunGroup) -> Iterator[str]:
    """Yield a problem for every language of a group that no task is in."""
    known = set[str]().union(*task_languages(experiment).values())
    for language in group.languages or ():
        if language not in known:
            yield unknown(f"runs.{group_id}.languages", language, known, "language with tasks")


def _replicates(group_id: str, group: RunGroup) -> Iterator[str]:
    """Yield a problem for replicates of one name that differ in more than their seed, or not in it.

    What they begin from or read may be a replicate itself.
    """
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
            yield f"{key}: {name!r} differs from {other!r} in more than its seed; name it otherwise"
        same = seeds.setdefault((shown, entry.seed), name)
        if same != name:
            yield f"{key}: {same!r} has the seed {entry.seed} already; give another"


def _missing(key: str, group: RunGroup, name: str) -> Iterator[str]:
    """Yield a problem for every setting that a run needs and neither it nor its group gives."""
    method = method_of(group, name)
    if not group.says(name, "recipe"):
        yield f"{key}.recipe: not given here or in the group; name one, or null: no training"
    elif group.setting(name, "recipe") and group.setting(name, "mixture") is None:
        yield f"{key}.mixture: not given here or in the group, and the run is trained; name one"
    if not method.keeps_vocabulary and group.setting(name, "target") is None:
        yield f"{key}.target: not given here or in the group; name the tokenizer of the new rows"
    if method.keeps_vocabulary and group.methods[name].target is not None:
        yield (
            f"{key}.target: method {method.name!r} keeps the vocabulary, received "
            f"{group.methods[name].target!r}; remove it or choose another method"
        )


def checkpoint_problems(
    experiment: Experiment, key: str, named: RunStep, known: list[str]
) -> Iterator[str]:
    """Yield a problem for a run that is not there, and for a step that it has no checkpoint at."""
    if named.run not in known:
        yield unknown(f"{key}.run", named.run, known, "run")
        return
    steps, ends = run_steps(experiment, named.run)
    if named.step == BEST:
        if not keeps_best(experiment, named.run):
            yield (
                f"{key}.step: run {named.run!r} keeps no best checkpoint; set keep_best: true in"
                " its recipe, or name another step"
            )
        return
    if named.step in (0, "last") or selected(steps, ends, [named.step]) not in ([], [0]):
        return
    names = [str(step) for step in steps] + (["first", "last", *ends] if len(steps) > 1 else [])
    yield f"{key}.step: run {named.run!r} has no checkpoint {named.step!r} (it has: " + (
        f"{', '.join(names)})"
    )


def _tokenizers(
    experiment: Experiment, key: str, group: RunGroup, name: str, run: str
) -> Iterator[str]:
    """Yield a problem if a method that changes the vocabulary is to change it to itself."""
    method = method_of(group, name)
    before, after = tokenizer_before(experiment, run), tokenizer_after(experiment, run)
    if method.keeps_vocabulary:
        return
    if before is not None and before == after:
        begins = group.methods[name].start
        where = f"run {begins.run!r}" if begins else f"model {group.source!r}"
        yield (
            f"{key}.target: {where} has tokenizer {after!r} already, and method {method.name!r} "
            "gives it another; name another target, or use method 'lapt', which keeps it"
        )
