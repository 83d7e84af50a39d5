"""Initialise a model for a new vocabulary and write a folder that loads everywhere."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command
from revocab.initialise.options import InitJob
from revocab.models.hub_or_folder import model_field, tokenizer_field


class Inputs(Closed):
    """Models and tokenizers; which of them are needed depends on the method."""

    source: Path = model_field("model folder (safetensors)")
    source_tokenizer: Path | None = tokenizer_field(
        "its tokenizer folder; none: the model folder", default=None
    )
    target_tokenizer: Path | None = tokenizer_field("tokenizer folder, not for lapt", default=None)
    pairs: Path | None = Field(
        default=None, description="folder of intersect_vocabularies; none: made here"
    )
    helper: Path | None = model_field(
        "model folder; its tokenizer may be another than the target's", default=None
    )
    helper_pairs: Path | None = Field(
        default=None,
        description="folder of intersect_vocabularies, helper's tokenizer to target; none: made"
        " here",
    )
    adapted: Path | None = model_field(
        "model folder with the target's tokens, trained; for lep", default=None
    )
    base: Path | None = model_field("model folder that it was adapted from; for lep", default=None)
    auxiliary: Path | None = Field(
        default=None, description="folder of train_auxiliary, for auxiliary=fasttext"
    )


class Machine(Closed):
    """Where matrices are computed."""

    device: str = Field(default="cpu", description="where to compute, such as cuda")
    quiet: bool = Field(default=False, description="say nothing but warnings")


def run(inputs: Inputs, job: InitJob, machine: Machine, out: Path) -> None:
    """Write the adapted model."""
    from revocab.initialise.adapted_model import initialise_model
    from revocab.progress import silent, spoken

    initialise_model(
        inputs.source,
        out,
        job.method,
        job.option,
        target_tokenizer=inputs.target_tokenizer,
        source_tokenizer=inputs.source_tokenizer,
        pairs=inputs.pairs,
        identity=job.identity,
        helper=inputs.helper,
        helper_pairs=inputs.helper_pairs,
        auxiliary=inputs.auxiliary,
        adapted=inputs.adapted,
        base=inputs.base,
        seed=job.seed,
        languages=job.languages,
        device=machine.device,
        say=silent if machine.quiet else spoken(),
    )


COMMAND = Command(run, job=InitJob, inputs=Inputs, machine=Machine)
