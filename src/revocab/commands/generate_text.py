"""Generate greedily with checkpoints of one run on stored prompts, and score the outputs."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Id
from revocab.command import Command
from revocab.evaluation.inference.chat_prompts import chat_template_input, template_text
from revocab.evaluation.options import Generating, GenerationHardware, GenerationJob
from revocab.models.hub_or_folder import model_field
from revocab.rule import Given, Plan, Rule, Step


class Inputs(Closed):
    models: dict[int, Path] = model_field("model folders, by step", min_length=1)
    prompts: dict[Id, Path] = Field(
        min_length=1, description="files written by build_prompts, by task"
    )
    chat_template: Path | None = chat_template_input()


def run(inputs: Inputs, job: GenerationJob, machine: GenerationHardware, out: Path) -> None:
    from revocab.evaluation.generation.generate import generate_checkpoints

    options = Generating(
        **job.model_dump(exclude={"run"}),
        **machine.model_dump(),
        chat_template=template_text(inputs.chat_template, job.chat),
    )
    generate_checkpoints(job.run, inputs.models, inputs.prompts, out, options)


COMMAND = Command(run, finds=("evaluation/generation/kinds", "evaluation/inference/engines"))


def planned(plan: Plan, run: str) -> Step:
    generation, entry = plan.experiment.evaluation.generation, plan.runs[run]
    limits = {generation.tasks[task].limit for task in plan.generation_tasks(entry)}
    asking, template = plan.asking(entry)
    # What the score table records as the limit: one number where all tasks share it.
    limit = next(iter(limits)) if len(limits) == 1 else None
    job = GenerationJob.of(asking, generation, run=run, limit=limit)
    inputs: dict[str, Given] = {
        "models": plan.checkpoints(entry, entry.select(generation.steps)),
        "chat_template": template,
        "prompts": plan.prompts(entry),
    }
    return Step(plan.paths.generation(run), job, inputs)


RULE = Rule(
    COMMAND,
    planned,
    lambda plan: [run.id for run in plan.evaluated() if plan.generation_tasks(run)],
)
