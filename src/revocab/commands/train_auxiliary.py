"""Train fastText vectors for a target vocabulary, and derive those of source vocabularies."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Id
from revocab.command import Command, Nothing
from revocab.initialise.reading.fasttext import AuxiliaryJob
from revocab.models.hub_or_folder import tokenizer_field
from revocab.rule import Given, Plan, Rule, Step


class Inputs(Closed):
    target_tokenizer: Path = tokenizer_field("tokenizer folder")
    source_tokenizers: list[Path] = tokenizer_field(
        "tokenizer folders whose tokens get vectors by their n-grams", min_length=1
    )
    corpora: dict[Id, Path] = Field(min_length=1, description="prepared corpora, by id")


def run(inputs: Inputs, job: AuxiliaryJob, machine: Nothing, out: Path) -> None:
    from revocab.initialise.reading.fasttext import train_auxiliary

    train_auxiliary(inputs.target_tokenizer, inputs.source_tokenizers, inputs.corpora, out, job)


COMMAND = Command(run)


def planned(plan: Plan, target: str) -> Step:
    auxiliary = plan.experiment.auxiliary
    assert auxiliary is not None  # a run asks for it
    runs = [run for run in plan.runs.values() if run.auxiliary and run.target == target]
    inputs: dict[str, Given] = {
        "target_tokenizer": plan.tokenizer(target),
        "source_tokenizers": [
            plan.tokenizer(source) for source in sorted({run.source_tokenizer for run in runs})
        ],
        "corpora": plan.corpora(auxiliary.corpora),
    }
    job = AuxiliaryJob.of(auxiliary, seed=plan.experiment.seed)
    return Step(plan.paths.auxiliary(target), job, inputs)


def ids(plan: Plan) -> list[str]:
    return sorted({run.target for run in plan.runs.values() if run.auxiliary})


RULE = Rule(COMMAND, planned, ids, lasting=True)
