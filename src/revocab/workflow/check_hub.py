"""``revocab run FILE --check``: ask the Hub for all that an experiment takes from it.

A first row of each split of a data set is read, and the configuration of each model: an absent or
renamed repository, a revision, a gate, a split or a field is then named in seconds, and not after
the days of work that come before it is needed. With ``HF_HUB_OFFLINE=1`` the cache is asked alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from revocab.bill.amounts import short
from revocab.bill.bill import bill_of
from revocab.bill.device import BillOptions
from revocab.bill.disk import LEAST
from revocab.bill.trainings import TOO_LARGE
from revocab.config.schema import Experiment
from revocab.config.schema.data import Corpus
from revocab.corpora.source import HubData, configuration, renamed
from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.harness import data_sets_of
from revocab.evaluation.multiple_choice.tasks import find_template, load_template
from revocab.hub import Kind, offline, resolve
from revocab.hub_errors import explain
from revocab.plan.plan import Plan


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


def check_hub(plan: Plan) -> str:
    """Return a line on what was found; raise :class:`RevocabError` with all that is not there."""
    problems, notices, entries = [], [], list(needed(plan.experiment))
    for entry in entries:
        try:
            notices += list(check_model(entry) if entry.kind == "model" else check_data(entry))
        except RevocabError as error:
            problems += [f"{entry.key}: {problem}" for problem in error.problems]
    problems += [*too_little_disk(plan)]
    notices += too_little_memory(plan)
    if problems:
        raise RevocabError(problems + notices)
    where = "the cache has" if offline() else "the Hub gives"
    return "\n".join(
        [*notices, f"{where} all {len(entries)} models and data sets of the experiment"]
    )


def needed(experiment: Experiment) -> Iterator[Needed]:
    """Yield each thing that is taken from the Hub once, under the first key that names it."""
    found: dict[Any, Needed] = {}
    for entry in (*named(experiment, ""), *comet(experiment), *shipped(experiment)):
        data = entry.data.model_dump_json() if entry.data else None
        found.setdefault((entry.kind, entry.repository, entry.revision, data), entry)
    yield from found.values()


def named(value: Any, key: str, fields: tuple[str, ...] = ()) -> Iterator[Needed]:
    """Yield the repositories under a key of an experiment, however deep."""
    if isinstance(value, HubData):
        yield Needed(key, "dataset", value.id, value.revision, value, fields)
    elif isinstance(value, BaseModel):
        hub = getattr(value, "hub", None)
        if isinstance(hub, str):
            yield Needed(f"{key}.hub", "model", hub, getattr(value, "revision", None))
        if isinstance(value, Corpus) and value.translation is None:
            fields = (value.messages_field or value.text_field,)
        for name in type(value).model_fields:
            yield from named(getattr(value, name), f"{key}.{name}" if key else name, fields)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from named(part, f"{key}.{name}", fields)
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from named(part, f"{key}[{number}]", fields)


def comet(experiment: Experiment) -> Iterator[Needed]:
    for key in ("comet_model", "xcomet_model"):
        model = getattr(experiment.evaluation.generation, key)
        if model and not Path(model).exists() and not model.endswith(".ckpt"):
            repository, _, revision = model.partition("@")
            yield Needed(f"evaluation.generation.{key}", "model", repository, revision or None)


def shipped(experiment: Experiment) -> Iterator[Needed]:
    """Yield the data sets that lm-evaluation-harness' tasks and our templates bring themselves."""
    tasks = experiment.evaluation.multiple_choice.tasks
    names = {task.harness for task in tasks.values() if task.harness}
    by_task = data_sets_of(names) if names else {}
    folder = experiment.evaluation.multiple_choice.templates
    own = Path(folder) if folder else None
    for name, task in tasks.items():
        key = f"evaluation.multiple_choice.tasks.{name}"
        for repository in by_task.get(task.harness or "", ()):
            yield Needed(f"{key}.harness", "dataset", repository, task.revision)
        if task.template and not task.data:
            template = load_template(find_template(task.template, own))
            if data := template.get("dataset_path"):
                revision = (template.get("dataset_kwargs") or {}).get("revision")
                yield Needed(f"{key}.template", "dataset", str(data), revision)


def check_model(entry: Needed) -> Iterator[str]:
    """Yield what a model or tokenizer is now called, if that is another name; read a file of it.

    Raises :class:`RevocabError` where it cannot be had.
    """
    from huggingface_hub import hf_hub_download

    commit = resolve(entry.repository, entry.revision, "model")["commit"]
    file = "config.json" if entry.key.endswith(".hub") else "hparams.yaml"
    try:
        hf_hub_download(entry.repository, file, revision=commit)
    except Exception as error:
        raise RevocabError(explain(error, entry.repository, "model")) from error
    yield from renamed_to(entry)


def check_data(entry: Needed) -> Iterator[str]:
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
    yield from renamed_to(entry)


def renamed_to(entry: Needed) -> Iterator[str]:
    if not offline():
        from huggingface_hub import HfApi

        name = HfApi().repo_info(entry.repository, repo_type=entry.kind).id
        if name and name.lower() != entry.repository.lower():
            yield f"{entry.key}: {entry.repository} is now called {name}; write that"


def too_little_disk(plan: Plan) -> Iterator[str]:
    """Yield a problem if the disk has less free than the least that the experiment can do with."""
    due = bill_of(plan, BillOptions()).totals.get(LEAST)
    free = shutil.disk_usage(".").free
    if due and due.value > free:
        need, have = short(due.value, "B"), short(free, "B")
        yield f"disk: {have} free, at its peak the experiment needs at least {need} (revocab plan)"


def too_little_memory(plan: Plan) -> Iterator[str]:
    """Yield a line for each training that is too large for the GPUs here, if there are any.

    No problem: a profile may start it elsewhere.
    """
    import torch

    if count := torch.cuda.device_count():
        memory = torch.cuda.get_device_properties(0).total_memory
        for training in bill_of(plan, BillOptions(memory=memory, devices=count)).trainings:
            if training.layout == TOO_LARGE:
                need, have = short(training.amounts["memory"].value, "B"), short(memory, "B")
                yield f"memory: {training.name} needs {need} a device, of which {count} have {have}"
