"""Initialise a model for a new vocabulary and write a folder that loads everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command
from revocab.initialise.options import InitJob
from revocab.initialise.token_vectors import vector_files
from revocab.models.hub_or_folder import model_field, tokenizer_field
from revocab.rule import Artefact, Given, Plan, Rule, Step


class Inputs(Closed):
    """Models and tokenizers; which of them are needed depends on the method."""

    source: Path = model_field("model folder (safetensors)")
    source_tokenizer: Path | None = tokenizer_field(
        "tokenizer folder of the source; default: the model folder", default=None
    )
    target_tokenizer: Path | None = tokenizer_field(
        "target tokenizer folder; not for lapt", default=None
    )
    pairs: Path | None = Field(
        default=None, description="folder written by intersect_vocabularies; default: computed"
    )
    helper: Path | None = model_field(
        "helper model folder; its tokenizer may differ from the target's", default=None
    )
    helper_pairs: Path | None = Field(
        default=None,
        description="folder written by intersect_vocabularies for the helper's tokenizer and "
        "the target's; default: computed",
    )
    adapted: Path | None = model_field(
        "folder of a trained model with the target's tokens; for lep", default=None
    )
    base: Path | None = model_field(
        "folder of the model that it was adapted from; for lep", default=None
    )
    auxiliary: Path | None = Field(
        default=None,
        description="folder written by train_auxiliary, for auxiliary=fasttext; file of vectors by "
        "token text, for auxiliary=file",
    )


class Machine(Closed):
    """Where matrices are computed."""

    device: str = Field(default="cpu", description="device to compute on, such as cuda")
    quiet: bool = Field(default=False, description="print only warnings")


def run(inputs: Inputs, job: InitJob, machine: Machine, out: Path) -> None:
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


COMMAND = Command(run, job=InitJob, inputs=Inputs, machine=Machine, finds=("initialise/methods",))


def planned(plan: Plan, run: str) -> Step:
    entry = plan.runs[run]
    inputs: dict[str, Given] = {"source": plan.origin(entry)}
    # The source's own tokenizer folder decides only where the vocabulary is kept.
    decided: dict[str, Any] = {}
    if not entry.keeps_vocabulary:
        decided = {"identity": entry.identity, "languages": plan.languages(entry)}
        inputs["target_tokenizer"] = plan.tokenizer(entry.target)
        inputs["pairs"] = plan.intersection(entry.source_tokenizer, entry.target)
    if entry.helper:
        inputs["helper"] = plan.model(entry.helper)
        inputs["helper_pairs"] = plan.helper_pairs(entry.helper, entry.target)
    if entry.donor:
        inputs["adapted"] = plan.other(entry.donor)
        inputs["base"] = plan.root(entry.donor[0])
    if entry.auxiliary:
        maker = f"train_auxiliary--{entry.target}"
        inputs["auxiliary"] = plan.folder(plan.paths.auxiliary(entry.target), maker=maker)
    if entry.vectors:
        inputs["auxiliary"] = vectors(plan)
    job = InitJob(method=entry.method, option=entry.options, seed=entry.seed, **decided)
    return Step(f"{plan.paths.run(run)}/init", job, inputs)


def vectors(plan: Plan) -> Artefact:
    """Return the experiment's file of vectors by token text, with the texts if they are apart."""
    auxiliary = plan.experiment.auxiliary
    assert auxiliary is not None and auxiliary.vectors is not None  # a run asks for it
    return Artefact(auxiliary.vectors, tuple(map(str, vector_files(Path(auxiliary.vectors)))))


RULE = Rule(
    COMMAND, planned, lambda plan: [run.id for run in plan.runs.values() if run.made], lasting=True
)
