"""Score the translations of one run with COMET-22 and xCOMET, in their own environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Id
from revocab.command import Command
from revocab.evaluation.options import CometHardware, CometJob
from revocab.rule import Given, Plan, Rule, Step


class Inputs(Closed):
    generation: Path = Field(description="folder written by generate")
    prompts: dict[Id, Path] = Field(
        min_length=1, description="files written by build_prompts, by task"
    )


def run(inputs: Inputs, job: CometJob, machine: CometHardware, out: Path) -> None:
    from revocab.evaluation.generation.comet import score_run

    score_run(job.run, inputs.generation, inputs.prompts, job.models, out, machine)


COMMAND = Command(
    run, out="CSV file to write", writes="file", finds=("evaluation/generation/kinds",)
)


def planned(plan: Plan, run: str) -> Step:
    entry, folder = plan.runs[run], plan.paths.generation(run)
    inputs: dict[str, Given] = {
        "generation": plan.folder(folder),
        "prompts": plan.prompts(entry),
    }
    return Step(f"{folder}/comet.csv", CometJob(run=run, models=plan.comet_models(entry)), inputs)


RULE = Rule(
    COMMAND, planned, lambda plan: [run.id for run in plan.evaluated() if plan.comet_models(run)]
)
