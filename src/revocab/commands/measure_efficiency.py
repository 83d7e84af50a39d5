"""Measure speed and memory of one checkpoint on text of a language."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command
from revocab.evaluation.options import EfficiencyJob, Hardware, Timing
from revocab.models.hub_or_folder import model_field


class Inputs(Closed):
    """Model and text."""

    model: Path = model_field("model folder")
    text: Path = Field(description="documents, .jsonl or .jsonl.gz")


def run(inputs: Inputs, job: EfficiencyJob, machine: Hardware, out: Path) -> None:
    """Write the measurement."""
    from revocab.evaluation.efficiency import measure_efficiency

    known = {"run", "step", "corpus", "language"}
    options = Timing(**job.model_dump(exclude=known), **machine.model_dump())
    measure_efficiency(
        job.run, job.step, inputs.model, inputs.text, job.corpus, job.language, out, options
    )


COMMAND = Command(
    run,
    job=EfficiencyJob,
    inputs=Inputs,
    machine=Hardware,
    out="JSON file to write",
    writes="file",
)
