"""Write one multiple-choice task as a file that lm-evaluation-harness reads."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.evaluation.multiple_choice.tasks import TaskJob
from revocab.rule import Artefact, Given, Plan, Rule, Step, near


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


def planned(plan: Plan, task: str) -> Step:
    from revocab.evaluation.multiple_choice.tasks import find_template, template_files

    choices = plan.experiment.evaluation.multiple_choice
    entry = choices.tasks[task]
    data = entry.data
    language = None if entry.harness else entry.language  # a shipped task has its own words
    job = TaskJob.of(entry, task=task, language=language, hub=data.hub if data else None)
    files = plan.source(data) if data else []
    folder = choices.templates
    own = Path(folder) if folder else None
    template = find_template(entry.template, own) if entry.template else None
    mine = template is not None and template.parent == own
    inputs: dict[str, Given] = {
        "templates": Artefact(folder, ()) if folder and mine else None,
        "data": files[0] if files else None,
    }
    also = [near(file) for file in template_files(template)] if template else []
    return Step(plan.paths.task(task), job, inputs, also)


RULE = Rule(COMMAND, planned, lambda plan: plan.experiment.evaluation.multiple_choice.tasks)
