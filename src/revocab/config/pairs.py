"""Pairs of tokenizers whose tokens are compared, for runs and for their helpers."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from revocab.config.expand import Run, tokenizer_of
from revocab.config.schema import Experiment

Pair = tuple[str, str]


def helper_pair(experiment: Experiment, helper: str | None, target: str | None) -> Pair | None:
    """Return a helper's tokenizer and the target; None where they are one, or one is missing."""
    tokenizer = tokenizer_of(experiment, helper)
    if tokenizer is None or target is None or tokenizer == target:
        return None
    return tokenizer, target


def needed_pairs(experiment: Experiment, runs: Collection[Run]) -> Iterator[tuple[Pair, str]]:
    """Yield each pair that runs, their helpers and their groups' helpers need, with its group.

    The first of a pair is a source's or a helper's tokenizer, the second a target.
    """
    for run in runs:
        if not run.keeps_vocabulary and run.source_tokenizer and run.target:
            yield (run.source_tokenizer, run.target), run.group
    helped: list[tuple[str | None, str | None, str]]
    helped = [(run.helper, run.target, run.group) for run in runs]
    helped += [(one.helper, one.target, name) for name, one in experiment.runs.items()]
    for helper, target, group in helped:
        if pair := helper_pair(experiment, helper, target):
            yield pair, group


def compared_pairs(experiment: Experiment, runs: Collection[Run]) -> dict[Pair, str]:
    """Return each pair that :func:`needed_pairs` gives, with its identity."""
    found: dict[Pair, str] = {}
    for pair, group in needed_pairs(experiment, runs):
        found.setdefault(pair, experiment.runs[group].identity)
    return found
