"""Write one multiple-choice task as a file that lm-evaluation-harness reads."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.evaluation.multiple_choice.tasks import TaskJob


class Inputs(Closed):
    templates: Path | None = Field(
        default=None, description="folder of your own templates, searched before the package's"
    )
    data: Path | None = Field(default=None, description="local file of rows, .jsonl or .jsonl.gz")


def run(inputs: Inputs, job: TaskJob, machine: Nothing, out: Path) -> None:
    from revocab.evaluation.multiple_choice.tasks import (
        at_commit,
        check_items,
        find_template,
        task_config,
        write_task,
    )
    from revocab.output import check_files

    template = find_template(job.template, inputs.templates) if job.template else None
    check_files(out, inputs=[template, inputs.data])
    config = at_commit(task_config(job, inputs.templates, inputs.data))
    if job.items and not job.harness:  # the harness's are counted where they are scored
        check_items(job.task, config, job.items)
    write_task(out, config)


COMMAND = Command(run, out="YAML file to write", writes="file")
