"""What each reader of a data source accepts: anything else is an error of the file."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.config.schema import Experiment, Source
from revocab.corpora.source import Kind, check_accepted

#: Where a multiple-choice task may take its rows from: the harness reads them itself.
TASK_DATA: tuple[Kind, ...] = ("world", "path", "hub")


def check_unread(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every data source that its reader does not read, or not in that form."""
    for name, task in experiment.evaluation.multiple_choice.tasks.items():
        if task.data:
            yield from task_data_problems(
                f"evaluation.multiple_choice.tasks.{name}.data", task.data
            )


def task_data_problems(key: str, source: Source) -> Iterator[str]:
    """Yield what of a source the harness cannot read for a multiple-choice task."""
    why = ": lm-evaluation-harness reads the rows itself"
    yield from check_accepted(key, source, TASK_DATA, why)
    if source.path and not source.path.endswith((".jsonl", ".jsonl.gz")):
        yield f"{key}.path: received {source.path!r}; allowed are .jsonl and .jsonl.gz files{why}"
    for part in ("fields", "names") if source.hub else ():
        if getattr(source.hub, part):
            yield (
                f"{key}.hub.{part}: templates name their fields, received "
                f"{getattr(source.hub, part)}; remove it"
            )
    if source.hub and source.hub.files:
        yield f"{key}.hub.files: received {source.hub.files!r}{why}; name a configuration instead"
