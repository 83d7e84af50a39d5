"""Measure speed and memory of one checkpoint on text of a language."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command
from revocab.evaluation.options import EfficiencyJob, Hardware
from revocab.models.hub_or_folder import model_field
from revocab.rule import Given, Plan, Rule, Step


class Inputs(Closed):
    model: Path = model_field("model folder")
    text: Path = Field(description="documents, .jsonl or .jsonl.gz")


def run(inputs: Inputs, job: EfficiencyJob, machine: Hardware, out: Path) -> None:
    from revocab.evaluation.efficiency import measure_efficiency

    measure_efficiency(inputs.model, inputs.text, job, machine, out)


COMMAND = Command(
    run, out="JSON file to write", writes="file", finds=("evaluation/inference/engines",)
)


def planned(plan: Plan, run: str) -> Step:
    experiment, entry = plan.experiment, plan.runs[run]
    efficiency = experiment.evaluation.efficiency
    assert efficiency is not None  # or there would be no such job
    job = EfficiencyJob.of(
        efficiency,
        run=run,
        step=entry.steps[-1],
        corpus=efficiency.corpus,
        language=experiment.corpora[efficiency.corpus].language,
        engine=experiment.evaluation.generation.engine,
    )
    inputs: dict[str, Given] = {
        "model": plan.checkpoint(entry, entry.steps[-1]),
        "text": plan.heldout_text(efficiency.corpus),
    }
    return Step(plan.paths.efficiency(run), job, inputs)


RULE = Rule(COMMAND, planned, lambda plan: plan.timed)
