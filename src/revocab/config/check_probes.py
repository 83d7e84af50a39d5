"""Probes: whether their corpora hold out text in the task's language, and their kind can ask it."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.config.schema import Experiment
from revocab.config.schema.evaluation import Probe
from revocab.errors import RevocabError
from revocab.evaluation.probes.kind import find_probe


def probes(experiment: Experiment) -> Iterator[tuple[str, str, Probe]]:
    """Yield key, language and options of every probe."""
    for name, task in experiment.evaluation.multiple_choice.tasks.items():
        if task.probe is not None:
            yield f"evaluation.multiple_choice.tasks.{name}.probe", task.language, task.probe


def probe_references(experiment: Experiment) -> Iterator[tuple[str, str, str]]:
    """Yield the (key, id, kind of thing) that probes refer to."""
    for key, _, probe in probes(experiment):
        yield from ((f"{key}.corpora", corpus, "corpus") for corpus in probe.corpora)


def check_probes(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every probe that cannot be made."""
    for key, language, probe in probes(experiment):
        yield from corpus_problems(experiment, key, language, probe)
        try:
            found = find_probe(probe.kind).problems(probe, language)
        except RevocabError as error:
            found = error.problems
        yield from (f"{key}.{one}" for one in found)


def corpus_problems(experiment: Experiment, key: str, language: str, probe: Probe) -> Iterator[str]:
    """Yield a problem for every corpus that holds out nothing, or is in another language."""
    for name in probe.corpora:
        corpus = experiment.corpora.get(name)
        if corpus is None:
            continue
        if not corpus.heldout_bytes:
            yield (
                f"{key}.corpora: {name!r} holds out no text, and items are made only from that;"
                f" give corpora.{name}.heldout_bytes"
            )
        if corpus.language != language:
            yield (
                f"{key}.corpora: {name!r} is in {corpus.language!r}, the task in {language!r}; "
                "name corpora in its language"
            )
