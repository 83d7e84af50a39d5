"""Measure how similar the embeddings of a group's runs are to the helper's and to each other."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Id
from revocab.command import Command, Nothing
from revocab.evaluation.embedding_similarity import EmbeddingSimilarityJob
from revocab.models.hub_or_folder import model_field, tokenizer_field
from revocab.rule import Given, Plan, Rule, Step


class Inputs(Closed):
    target_tokenizer: Path = tokenizer_field("tokenizer folder of all models")
    first: dict[Id, Path] = Field(description="model folders before training, by run")
    last: dict[Id, Path] = Field(description="model folders after training, by run")
    helper_model: Path | None = model_field(
        "helper model folder; default: compare runs only", default=None
    )
    helper_pairs: Path | None = Field(
        default=None,
        description="folder written by intersect for the helper's tokenizer and "
        "the target's; default: computed",
    )


def run(inputs: Inputs, job: EmbeddingSimilarityJob, machine: Nothing, out: Path) -> None:
    from revocab.evaluation.embedding_similarity import RunModels, measure_to

    runs = [RunModels(run, first, inputs.last[run]) for run, first in inputs.first.items()]
    measure_to(out, job, runs, inputs.target_tokenizer, inputs.helper_model, inputs.helper_pairs)


COMMAND = Command(run)


def planned(plan: Plan, group: str) -> Step:
    experiment = plan.experiment
    entry = experiment.runs[group]
    assert entry.target is not None  # its new rows are compared
    runs = [run for run in plan.evaluated(group) if run.learns_rows_of(entry.target)]
    job = EmbeddingSimilarityJob.of(
        experiment.similarity,
        group=group,
        helper=entry.helper,
        last_step=max((run.steps[-1] for run in runs), default=0),
        seed=experiment.seed,
    )
    inputs: dict[str, Given] = {
        "target_tokenizer": plan.tokenizer(entry.target),
        "first": {run.id: plan.checkpoint(run, 0) for run in runs},
        "last": {run.id: plan.checkpoint(run, run.steps[-1]) for run in runs},
        "helper_model": plan.model(entry.helper) if entry.helper else None,
        "helper_pairs": plan.helper_pairs(entry.helper, entry.target),
    }
    return Step(plan.paths.similarity(group), job, inputs)


def ids(plan: Plan) -> list[str]:
    return [group for group in plan.experiment.runs if plan.is_shown(plan.paths.similarity(group))]


RULE = Rule(COMMAND, planned, ids)
