"""Measure time and memory of every method at a real model's embedding shape."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.initialise.options import ChosenMethod, ScaleJob
from revocab.models.hub_or_folder import tokenizer_field
from revocab.rule import Given, Plan, Rule, Step


class Inputs(Closed):
    source_tokenizer: Path = tokenizer_field("tokenizer folder")
    target_tokenizer: Path = tokenizer_field("tokenizer folder")
    pairs: Path | None = Field(
        default=None, description="folder written by intersect; default: computed"
    )


def run(inputs: Inputs, job: ScaleJob, machine: Nothing, out: Path) -> None:
    from revocab.initialise.cost_at_scale import measure_to
    from revocab.initialise.reading.vocabularies import Vocabularies

    vocabularies = Vocabularies(
        inputs.source_tokenizer, inputs.target_tokenizer, job.identity, inputs.pairs
    )
    measure_to(out, job, vocabularies)


COMMAND = Command(run, finds=("initialise/methods",))


def planned(plan: Plan) -> Step:
    scale = plan.experiment.scale
    assert scale is not None  # or there would be no such job
    job = ScaleJob.of(
        scale,
        methods={
            name: ChosenMethod(method=entry.method, option=entry.options)
            for name, entry in scale.methods.items()
        },
        seed=plan.experiment.seed,
    )
    source, target = scale.source_tokenizer, scale.target_tokenizer
    inputs: dict[str, Given] = {
        "source_tokenizer": plan.tokenizer(source),
        "target_tokenizer": plan.tokenizer(target),
        "pairs": plan.intersection(source, target),
    }
    return Step(f"{plan.paths.results}/scale", job, inputs)


RULE = Rule(COMMAND, planned, lambda plan: [()] if plan.experiment.scale else [])
