"""``revocab run FILE --check``: ask the Hub for all that an experiment takes from it.

A first row of each split of a data set is read, and the configuration of each model: what is absent
or gated is named in seconds, not after days of work. ``HF_HUB_OFFLINE=1`` asks the cache alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from revocab.corpora.source import HubData, configuration, renamed
from revocab.errors import RevocabError, refused
from revocab.evaluation.multiple_choice.harness import data_sets_of
from revocab.evaluation.multiple_choice.tasks import find_template, load_template
from revocab.experiment.layout import Layout
from revocab.experiment.schema import Experiment
from revocab.experiment.schema.data import Corpus
from revocab.hub import Kind, explain, offline, resolve
from revocab.workflow.plan import machine_problems


class Needed(NamedTuple):
    """A repository, the first key that takes something from it, and a field that its rows need."""

    key: str
    kind: Kind
    repository: str
    revision: str | None
    data: HubData | None = None
    field: str | None = None


def check_hub(layout: Layout) -> str:
    """Return a line on what was found; raise :class:`RevocabError` with all that is not there."""
    entries = needed(layout.experiment)
    problems = [f"{entry.key}: {each}" for entry in entries for each in refused(check, entry)]
    lacking, too_large = machine_problems(layout)
    if problems + lacking:
        raise RevocabError(problems + lacking + too_large)
    found = f"{len(entries)} models and data sets are {'cached' if offline() else 'on the Hub'}"
    return "\n".join([*too_large, found])


def needed(experiment: Experiment) -> list[Needed]:
    """Return each thing that is taken from the Hub once, under the first key that names it."""
    found: dict[str, Needed] = {}
    for entry in (*named(experiment, ""), *unnamed(experiment)):
        found.setdefault(repr(entry[1:5]), entry)
    return [*found.values()]


def named(value: Any, key: str, field: str | None = None) -> Iterator[Needed]:
    """Yield the repositories under a key of an experiment, however deep."""
    if isinstance(value, HubData):
        yield Needed(key, "dataset", value.id, value.revision, value, field)
        return
    if isinstance(value, BaseModel):
        if isinstance(hub := getattr(value, "hub", None), str):
            yield Needed(f"{key}.hub", "model", hub, getattr(value, "revision", None))
        if isinstance(value, Corpus) and value.translation is None:
            field = value.messages_field or value.text_field
        value = dict(value)
    elif isinstance(value, list | tuple):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for name, part in value.items():
            yield from named(part, f"{key}.{name}" if key else name, field)


def unnamed(experiment: Experiment) -> Iterator[Needed]:
    """Yield COMET's models, and the data sets that tasks of lm-evaluation-harness and our templates
    bring themselves.
    """
    for key in ("comet_model", "xcomet_model"):
        model = getattr(experiment.evaluation.generation, key)
        if model and not Path(model).exists() and not model.endswith(".ckpt"):
            repository, _, revision = model.partition("@")
            yield Needed(f"evaluation.generation.{key}", "model", repository, revision or None)
    choices = experiment.evaluation.multiple_choice
    names = {task.harness for task in choices.tasks.values() if task.harness}
    by_task = data_sets_of(names) if names else {}
    folder = Path(choices.templates) if choices.templates else None
    for name, task in choices.tasks.items():
        key = f"evaluation.multiple_choice.tasks.{name}"
        for repository in by_task.get(task.harness or "", ()):
            yield Needed(f"{key}.harness", "dataset", repository, task.revision)
        if task.template and not task.data:
            template = load_template(find_template(task.template, folder))
            revision = (template.get("dataset_kwargs") or {}).get("revision")
            if data := template.get("dataset_path"):
                yield Needed(f"{key}.template", "dataset", str(data), revision)


def check(entry: Needed) -> None:
    """Read a file of a model or tokenizer, or a first row of a data set where its splits are named;
    raise :class:`RevocabError` where it cannot be had.
    """
    from huggingface_hub import hf_hub_download

    found, data = resolve(entry.repository, entry.revision, entry.kind), entry.data
    if entry.kind == "model":
        file = "config.json" if entry.key.endswith(".hub") else "hparams.yaml"
        try:
            hf_hub_download(entry.repository, file, revision=found["commit"])
        except Exception as error:
            raise RevocabError(explain(error, entry.repository, "model")) from error
    if data is None:
        return
    for name in data.names.values() if data.names else (data.name,):
        rows = configuration(found, name, data, streaming=not offline())
        row = renamed(next(iter(rows), {}), data.fields, data.id)
        if entry.field and entry.field.split(".")[0] not in row:
            has = ", ".join(sorted(row)) or "nothing"
            raise RevocabError(f"dataset {data.id!r}: no field {entry.field!r} (a row has: {has})")
