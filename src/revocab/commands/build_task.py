"""Write one multiple-choice task as a file that lm-evaluation-harness reads."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.evaluation.multiple_choice.tasks import TaskJob


class Inputs(Closed):
    """Template and local rows."""

    templates: Path | None = Field(
        default=None, description="folder of your own templates, searched before the package's"
    )
    data: Path | None = Field(default=None, description="local file of rows, .jsonl or .jsonl.gz")


def run(inputs: Inputs, job: TaskJob, machine: Nothing, out: Path) -> None:
    """Build the task, count the rows of its data where their number is given, and write it."""
    from revocab.evaluation.multiple_choice.item_count import check_items
    from revocab.evaluation.multiple_choice.tasks import (
        at_commit,
        find_template,
        task_config,
        write_task,
    )
    from revocab.output import check_files

    config = task_config(job, inputs.templates, inputs.data)
    template = find_template(job.template, inputs.templates) if job.template else None
    check_files(out, inputs=[template, inputs.data])
    config = at_commit(config)
    if job.items:
        check_items(job.task, config, job.items)
    write_task(out, config)


COMMAND = Command(run, job=TaskJob, inputs=Inputs, out="YAML file to write", writes="file")
