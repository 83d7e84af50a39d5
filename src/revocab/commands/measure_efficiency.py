"""Measure speed and memory of one checkpoint on text of a language."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command
from revocab.evaluation.options import EfficiencyJob, Hardware
from revocab.models.hub_or_folder import model_field


class Inputs(Closed):
    model: Path = model_field("model folder")
    text: Path = Field(description="documents, .jsonl or .jsonl.gz")


def run(inputs: Inputs, job: EfficiencyJob, machine: Hardware, out: Path) -> None:
    from revocab.evaluation.efficiency import measure_efficiency

    measure_efficiency(inputs.model, inputs.text, job, machine, out)


COMMAND = Command(
    run, out="JSON file to write", writes="file", finds=("evaluation/inference/engines",)
)
