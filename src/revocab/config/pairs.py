"""Pairs of tokenizers whose tokens are compared, for runs and for their helpers."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from revocab.config.expand import Run
from revocab.config.lineage import method_of, run_id, tokenizer_before
from revocab.config.schema import Experiment, RunGroup

Pair = tuple[str, str]


def helper_pair(experiment: Experiment, helper: str | None, target: str | None) -> Pair | None:
    """Return a helper's tokenizer and the target; None where they are one, or one is missing."""
    if target is None:
        return None
    tokenizer = experiment.models[helper].tokenizer if helper else target
    return None if tokenizer == target else (tokenizer, target)


def compared_pairs(experiment: Experiment, runs: Collection[Run]) -> dict[Pair, str]:
    """Return each pair that runs, their helpers and their groups' helpers need, with its identity.

    The first of a pair is a source's or a helper's tokenizer, the second a target.
    """
    found: dict[Pair, str] = {
        (run.source_tokenizer, run.target): run.identity for run in runs if not run.keeps_vocabulary
    }
    helped: list[tuple[str | None, str | None, str]] = [
        (run.helper, run.target, run.identity) for run in runs
    ]
    helped += [(one.helper, one.target, one.identity) for one in experiment.runs.values()]
    for helper, target, identity in helped:
        if pair := helper_pair(experiment, helper, target):
            found.setdefault(pair, identity)
    return found


def check_identities(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every pair of tokenizers that two groups compare in different ways."""
    first: dict[Pair, tuple[str, RunGroup]] = {}
    for name, group in experiment.runs.items():
        for pair in dict.fromkeys(group_pairs(experiment, name, group)):
            other, before = first.setdefault(pair, (name, group))
            if before.identity != group.identity:
                yield (
                    f"runs.{name}.identity: {group.identity!r}, but runs.{other} compares the same "
                    f"tokenizers {' and '.join(map(repr, pair))} by {before.identity!r}; give"
                    " both groups the same identity"
                )


def group_pairs(experiment: Experiment, group_id: str, group: RunGroup) -> Iterator[Pair]:
    """Yield the pairs of a group that may hold mistakes elsewhere."""
    for name in group.methods:
        method, target = method_of(group, name), group.setting(name, "target")
        if method.keeps_vocabulary or target is None:
            continue
        helper = experiment.models.get(group.setting(name, "helper"))
        source = tokenizer_before(experiment, run_id(group_id, name))
        for tokenizer in (source, helper.tokenizer if helper else None):
            if tokenizer not in (None, target):
                yield tokenizer, target
