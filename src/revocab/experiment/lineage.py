"""What runs are made of, and what they are called: questions that checks and reports share.

Everything here holds of files that are wrong, too: what is not there is None or left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from revocab.closed import RunStep
from revocab.experiment.expand import BASE, Run, method_of, run_id, selected, tokenizer_of
from revocab.experiment.schema import Experiment, RunGroup, RunMethod

__all__ = ["BASE", "method_of", "run_id", "selected", "tokenizer_of"]

#: Keys under which a run names another run.
PARENTS = ("start", "donor")
Pair = tuple[str, str]


def parents(entry: RunMethod) -> Iterator[tuple[str, RunStep]]:
    for key in PARENTS:
        named = getattr(entry, key)
        if named is not None:
            yield key, named


def learns_new_rows(group: RunGroup) -> bool:
    return any(
        group.setting(name, "recipe") is not None
        and not method_of(group, name).keeps_vocabulary
        and group.setting(name, "target") == group.target
        for name in group.methods
    )


def trainings(experiment: Experiment) -> Iterator[tuple[str, str, str]]:
    """Yield key, mixture and recipe of everything that is trained, as the file names them."""
    for name, model in experiment.models.items():
        if model.pretrain:
            yield f"models.{name}.pretrain", model.pretrain.mixture, model.pretrain.recipe
    for run in experiment.expanded.values():
        if run.mixture and run.recipe:
            yield run.key, run.mixture, run.recipe


def text_corpora(experiment: Experiment, corpora: Iterable[str]) -> list[str]:
    return [corpus for corpus in corpora if not holds_conversations(experiment, corpus)]


def holds_conversations(experiment: Experiment, corpus: str) -> bool:
    """Return whether a corpus keeps messages; one that is not there does not."""
    entry = experiment.corpora.get(corpus)
    return entry is not None and entry.holds_conversations


# --- pairs of tokenizers whose tokens are compared ------------------------------------------------


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
    helped += [(group.helper, group.target, name) for name, group in experiment.runs.items()]
    for helper, target, group in helped:
        if pair := helper_pair(experiment, helper, target):
            yield pair, group


def compared_pairs(experiment: Experiment, runs: Collection[Run]) -> dict[Pair, str]:
    identities: dict[Pair, str] = {}
    for pair, group in needed_pairs(experiment, runs):
        identities.setdefault(pair, experiment.runs[group].identity)
    return identities
