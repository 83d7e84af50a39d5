"""Measure how similar the embeddings of a group's runs are to the helper's and to each other."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Folder, Id
from revocab.command import Command, Nothing
from revocab.evaluation.embedding_similarity import EmbeddingSimilarityJob
from revocab.models.hub_or_folder import model_field, tokenizer_field


class Inputs(Closed):
    target_tokenizer: Folder = tokenizer_field("tokenizer folder of all models")
    first: dict[Id, Path] = Field(description="model folders before training, by run")
    last: dict[Id, Path] = Field(description="model folders after training, by run")
    helper_model: Path | None = model_field(
        "helper model folder; default: compare runs only", default=None
    )
    helper_pairs: Folder | None = Field(
        default=None,
        description="folder written by intersect for the helper's tokenizer and "
        "the target's; default: computed",
    )


def run(inputs: Inputs, job: EmbeddingSimilarityJob, machine: Nothing, out: Path) -> None:
    from revocab.evaluation.embedding_similarity import RunModels, measure_to

    runs = [RunModels(run, first, inputs.last[run]) for run, first in inputs.first.items()]
    measure_to(out, job, runs, inputs.target_tokenizer, inputs.helper_model, inputs.helper_pairs)


COMMAND = Command(run)
