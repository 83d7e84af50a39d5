"""Tasks as people name them: a task file, or a template that brings its own data set."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Closed, unknown
from revocab.errors import RevocabError

#: What may be the name of a template; anything else is a file.
NAME = re.compile(r"[a-z0-9]+([_-][a-z0-9]+)*")
MARK = "template"


def tasks_field(description: str, **options: Any) -> Any:
    """Return the field of an input that is task files or, by hand, names of templates."""
    return Field(description=description, json_schema_extra={MARK: True}, **options)


@contextmanager
def as_task_files(inputs: Closed) -> Iterator[Closed]:
    """Yield a command's inputs with a task file in place of every template's name.

    The files are there as long as the command runs. Raises :class:`RevocabError` for names that
    there are not, and for templates without a data set of their own.
    """
    fields = [
        name
        for name, field in type(inputs).model_fields.items()
        if isinstance(field.json_schema_extra, dict) and MARK in field.json_schema_extra
    ]
    with tempfile.TemporaryDirectory() as folder:
        files = {
            name: [task_file(task, Path(folder)) for task in getattr(inputs, name)]
            for name in fields
        }
        yield inputs.model_copy(update=files)


def task_file(named: Path, folder: Path) -> Path:
    from revocab.evaluation.multiple_choice.tasks import (
        TaskJob,
        at_commit,
        find_template,
        load_template,
        task_config,
        template_names,
        write_task,
    )

    name = str(named)
    if named.exists() or not NAME.fullmatch(name):
        return named
    whole = [
        template
        for template in template_names()
        if "dataset_path" in load_template(find_template(template))
    ]
    if name not in template_names():
        raise RevocabError(unknown("--tasks", name, whole, "task file or template"))
    if name not in whole:
        raise RevocabError(
            f"--tasks {name}: a template without data of its own; make a task file with yours:"
            f" revocab task --task NAME --template {name} --data FILE --out NAME.yaml"
        )
    file = folder / f"{name}.yaml"
    write_task(file, at_commit(task_config(TaskJob(task=name, template=name), None, None)))
    return file
