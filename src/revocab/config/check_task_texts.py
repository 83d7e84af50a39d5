"""Generation tasks on held-out text: whether there is some, in the language of the task."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.config.schema import Experiment
from revocab.config.schema.evaluation import GenerationTask


def heldout_texts(experiment: Experiment) -> Iterator[tuple[str, str, GenerationTask]]:
    """Yield key, corpus and task of everything that is read of what a corpus holds out."""
    for name, task in experiment.evaluation.generation.tasks.items():
        for part, text in (("pool", task.pool), ("test", task.test)):
            if text.heldout is not None:
                yield f"evaluation.generation.tasks.{name}.{part}.heldout", text.heldout, task


def text_references(experiment: Experiment) -> Iterator[tuple[str, str, str]]:
    """Yield the (key, id, kind of thing) that generation tasks refer to."""
    yield from ((key, corpus, "corpus") for key, corpus, _ in heldout_texts(experiment))


def check_task_texts(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every corpus that holds out nothing, or is in another language."""
    for key, name, task in heldout_texts(experiment):
        corpus = experiment.corpora.get(name)
        if corpus is None:
            continue
        if not corpus.heldout_bytes:
            yield f"{key}: {name!r} holds out no text; give corpora.{name}.heldout_bytes"
        if corpus.language not in task.direction:
            yield (
                f"{key}: {name!r} is in {corpus.language!r}, the task in "
                f"{' and '.join(map(repr, task.direction))}; name a corpus in its language"
            )
