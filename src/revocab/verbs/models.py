"""Models: fetching and changing them, and rows for a new vocabulary."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Folder
from revocab.initialise.options import InitInputs, InitJob, ScaleJob
from revocab.models.change import ChangeJob
from revocab.models.fetch import FetchJob
from revocab.models.hub_or_folder import model_field, tokenizer_field
from revocab.models.parameters import ParametersJob, StandInJob
from revocab.verb import verb


@verb(out="DIR/snapshot; DIR/manifest.json is written last")
def fetch_model(
    *,
    path: Path | None = Field(
        default=None, description="local model folder, or a .gguf file, of which a folder is made"
    ),
    options: FetchJob,
    out: Path,
) -> None:
    """Fetch a model: a snapshot of a Hub repository, a copy of a folder, or a GGUF's folder."""
    from revocab.models.fetch import fetch_model

    fetch_model(out, options, path)


@verb()
def build_stand_in(
    *, tokenizer: Folder = tokenizer_field("tokenizer folder"), options: StandInJob, out: Path
) -> None:
    """Build a random model of some shape for a tokenizer, for a demo to pretrain."""
    from revocab.models.parameters import build_stand_in

    shape = options.architecture()
    build_stand_in(tokenizer, shape, options.context_length, options.seed, out)


@verb(remakes=("model", ""), finds=("models/changes",))
def change_model(
    *,
    model: Path = model_field("model folder (safetensors) to change"),
    options: ChangeJob,
    quiet: bool = Field(default=False, description="print only warnings"),
    out: Path,
) -> None:
    """Make a model of another one: expand its blocks (docs/methods.md)."""
    from revocab.models.change import change_model
    from revocab.progress import silent, spoken

    change_model(options, model, out, silent if quiet else spoken())


@verb(remakes=("source", ""), finds=("initialise/methods",))
def init_embeddings(
    *,
    inputs: InitInputs,
    options: InitJob,
    device: str = Field(default="cpu", description="device to compute on, such as cuda"),
    quiet: bool = Field(default=False, description="print only warnings"),
    out: Path,
) -> None:
    """Initialise a model for a new vocabulary and write a folder that loads everywhere."""
    from revocab.initialise.adapted_model import initialise_model
    from revocab.progress import silent, spoken

    initialise_model(inputs, options, out, device=device, say=silent if quiet else spoken())


@verb(out="CSV file to write", writes="file")
def count_parameters(*, options: ParametersJob, out: Path) -> None:
    """Count the parameters of models from their configurations alone."""
    from revocab.models.parameters import write_parameters

    write_parameters(options.models, out)


@verb(finds=("initialise/methods",))
def measure_scale(
    *,
    source_tokenizer: Folder = tokenizer_field("tokenizer folder"),
    target_tokenizer: Folder = tokenizer_field("tokenizer folder"),
    pairs: Folder | None = Field(
        default=None, description="folder written by intersect; default: computed"
    ),
    options: ScaleJob,
    out: Path,
) -> None:
    """Measure time and memory of every method at a real model's embedding shape."""
    from revocab.initialise.cost_at_scale import measure_to
    from revocab.initialise.reading.vocabularies import Vocabularies

    vocabularies = Vocabularies(source_tokenizer, target_tokenizer, options.identity, pairs)
    measure_to(out, options, vocabularies)
