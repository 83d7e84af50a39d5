"""``revocab run FILE --check``: ask the Hub for all that an experiment takes from it.

A first row of each split of a data set is read, and the configuration of each model: an absent
repository, a revision, a gate, a split or a field is then named in seconds, and not after
the days of work that come before it is needed. With ``HF_HUB_OFFLINE=1`` the cache is asked alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from revocab.config.schema import Experiment
from revocab.config.schema.data import Corpus
from revocab.corpora.source import HubData, configuration, renamed
from revocab.costs.devices import short
from revocab.costs.experiment import LEAST, TOO_LARGE, CostOptions, costs_of
from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.harness import data_sets_of
from revocab.evaluation.multiple_choice.tasks import find_template, load_template
from revocab.experiment.layout import Layout
from revocab.hub import Kind, offline, resolve
from revocab.hub_errors import explain


@dataclass(frozen=True)
class Needed:
    """A repository that an experiment takes something from, and the first key that says so."""

    key: str
    kind: Kind
    repository: str
    revision: str | None
    data: HubData | None = None
    #: Fields that a row must have.
    fields: tuple[str, ...] = ()


def check_hub(layout: Layout) -> str:
    """Return a line on what was found; raise :class:`RevocabError` with all that is not there."""
    problems, entries = [], list(needed(layout.experiment))
    for entry in entries:
        try:
            (check_model if entry.kind == "model" else check_data)(entry)
        except RevocabError as error:
            problems += [f"{entry.key}: {problem}" for problem in error.problems]
    lacking, too_large = machine_problems(layout)
    if problems + lacking:
        raise RevocabError(problems + lacking + too_large)
    where = "the cache has" if offline() else "the Hub gives"
    return "\n".join(
        [*too_large, f"{where} all {len(entries)} models and data sets of the experiment"]
    )


def needed(experiment: Experiment) -> Iterator[Needed]:
    """Yield each thing that is taken from the Hub once, under the first key that names it."""
    found: dict[Any, Needed] = {}
    for entry in (*named(experiment, ""), *unnamed(experiment)):
        data = entry.data.model_dump_json() if entry.data else None
        found.setdefault((entry.kind, entry.repository, entry.revision, data), entry)
    yield from found.values()


def named(value: Any, key: str, fields: tuple[str, ...] = ()) -> Iterator[Needed]:
    """Yield the repositories under a key of an experiment, however deep."""
    parts: Iterable[tuple[str, Any]] = ()
    if isinstance(value, HubData):
        yield Needed(key, "dataset", value.id, value.revision, value, fields)
    elif isinstance(value, BaseModel):
        hub = getattr(value, "hub", None)
        if isinstance(hub, str):
            yield Needed(f"{key}.hub", "model", hub, getattr(value, "revision", None))
        if isinstance(value, Corpus) and value.translation is None:
            fields = (value.messages_field or value.text_field,)
        parts = ((name, getattr(value, name)) for name in type(value).model_fields)
    elif isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list | tuple):
        parts = ((str(number), part) for number, part in enumerate(value))
    for name, part in parts:
        yield from named(part, f"{key}.{name}" if key else name, fields)


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
    for name, task in choices.tasks.items():
        key = f"evaluation.multiple_choice.tasks.{name}"
        for repository in by_task.get(task.harness or "", ()):
            yield Needed(f"{key}.harness", "dataset", repository, task.revision)
        if task.template and not task.data:
            own = Path(choices.templates) if choices.templates else None
            template = load_template(find_template(task.template, own))
            if data := template.get("dataset_path"):
                revision = (template.get("dataset_kwargs") or {}).get("revision")
                yield Needed(f"{key}.template", "dataset", str(data), revision)


def check_model(entry: Needed) -> None:
    """Read a file of a model or tokenizer; raise :class:`RevocabError` where it cannot be had."""
    from huggingface_hub import hf_hub_download

    commit = resolve(entry.repository, entry.revision, "model")["commit"]
    file = "config.json" if entry.key.endswith(".hub") else "hparams.yaml"
    try:
        hf_hub_download(entry.repository, file, revision=commit)
    except Exception as error:
        raise RevocabError(explain(error, entry.repository, "model")) from error


def check_data(entry: Needed) -> None:
    """The same for a data set, of which a first row is read where the file says which."""
    found, data = resolve(entry.repository, entry.revision, "dataset"), entry.data
    if data is not None:
        for name in data.names.values() if data.names else (data.name,):
            rows = configuration(found, name, data, streaming=not offline())
            row = renamed(next(iter(rows), {}), data.fields, data.id)
            if missing := [field for field in entry.fields if field.split(".")[0] not in row]:
                has = ", ".join(sorted(row)) or "nothing"
                raise RevocabError(
                    f"dataset {data.id!r}: no field {missing[0]!r} (a row has: {has})"
                )


def machine_problems(layout: Layout) -> tuple[list[str], list[str]]:
    """Return a problem if the disk has less free than the least that the experiment can do with,
    and a notice for each training that is too large for the GPUs here: a profile may start it
    elsewhere.
    """
    import torch

    count = torch.cuda.device_count()
    memory = torch.cuda.get_device_properties(0).total_memory if count else None
    costs = costs_of(layout, CostOptions(memory=memory, devices=count or 1))
    (due, _), free = costs.totals[LEAST], shutil.disk_usage(".").free
    problems = [
        f"disk: {short(free, 'B')} free, at its peak the experiment needs at least"
        f" {short(due, 'B')} (revocab plan)"
    ]
    notices = [
        f"memory: {item.name} needs {short(item.memory, 'B')} a device, of which {count} have"
        f" {short(memory, 'B')}"
        for item in costs.trainings
        if memory and item.layout == TOO_LARGE
    ]
    return problems if due > free else [], notices
