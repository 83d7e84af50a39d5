"""Parts of data sources that their reader has no use for: an error, so that no key is in vain."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.config.schema import Experiment


def check_unread(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every ``lines`` or ``hub.fields`` where neither is read."""
    readers = [
        (f"corpora.{name}.source", corpus.source, "text_field names the field of a corpus")
        for name, corpus in experiment.corpora.items()
    ]
    readers += [
        (f"evaluation.multiple_choice.tasks.{name}.data", task.data, "templates name their fields")
        for name, task in experiment.evaluation.multiple_choice.tasks.items()
        if task.data
    ]
    for key, source, instead in readers:
        if source.lines is not None:
            yield (
                f"{key}.lines: aligned files are for generation tasks and fertility.parallel, "
                f"received {source.lines}; give one file as 'path'"
            )
        if source.hub and source.hub.fields:
            yield f"{key}.hub.fields: {instead}, received {source.hub.fields}; remove it"
