"""Training: rows of tokens, what is held out, and the training itself."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from pydantic import Field

from revocab.closed import Folder, Id
from revocab.models.hub_or_folder import tokenizer_field
from revocab.training.chat.template import chat_template_field
from revocab.training.data.packing import HeldoutJob, PackingJob
from revocab.training.named_recipes import NamedRecipe, RowBudget
from revocab.training.recipe import DropJob
from revocab.training.run import Settings, TrainingFolders, TrainingMachine, TrainingRun
from revocab.training.startup import pretend_absent, process_variables
from revocab.verb import verb


@verb(shorthand=RowBudget)
def pack_tokens(
    *,
    tokenizer: Folder = tokenizer_field("tokenizer folder"),
    corpora: dict[Id, Folder] = Field(min_length=1, description="prepared corpora, by id"),
    heldout: list[Folder] = Field(
        default_factory=list,
        description="corpora whose held-out documents are excluded from every corpus",
    ),
    chat_template: Path | None = chat_template_field(),
    options: PackingJob,
    out: Path,
) -> str:
    """Pack training text into rows of tokens, mixed by tokens, in training order."""
    pretend_absent("torch", "datasets", "scipy")
    from revocab.training.data.packed_folder import pack_folder

    packed = pack_folder(tokenizer, corpora, options, out, heldout, chat_template)
    parts = ", ".join(
        f"{name} {count['rows']:,} rows ({count['share']:.3g} of them, {count['bytes']:,} bytes)"
        for name, count in packed["corpora"].items()
    )
    return (
        f"{out}: {packed['rows']:,} rows of {packed['sequence_length']:,} tokens: {parts}\n"
        f"next: revocab pack_heldout --tokenizer {tokenizer} --corpora ID=FOLDER, then"
        f" revocab train --packed {out}"
    )


@verb(shorthand=NamedRecipe)
def pack_heldout(
    *,
    tokenizer: Folder = tokenizer_field("tokenizer folder"),
    corpora: dict[Id, Folder] = Field(min_length=1, description="prepared corpora, by id"),
    chat_template: Path | None = chat_template_field(),
    options: HeldoutJob,
    out: Path,
) -> None:
    """Cut held-out text into windows of tokens, document by document."""
    pretend_absent("torch", "datasets", "scipy")
    from revocab.training.data.heldout import pack_heldout_folder

    pack_heldout_folder(tokenizer, corpora, options, out, chat_template)


@verb(shorthand=NamedRecipe, remakes=("model", "checkpoints/step-*"))
def train_model(
    *, inputs: TrainingFolders, options: Settings, machine: TrainingMachine, out: Path
) -> None:
    """Train a model on packed rows by a recipe; resumable; exports and evaluates checkpoints."""
    from revocab.workflow.gpus import end_with_parent

    os.environ.update(process_variables(os.environ))
    # A launcher that is killed must not leave its GPUs in use.
    if "TORCHELASTIC_RUN_ID" in os.environ:
        end_with_parent()
    adapters = any(stage.lora for stage in options.stages or ())
    pretend_absent("datasets", "scipy", *([] if adapters else ["peft"]))
    gc.disable()  # imports leave no garbage: collecting it would take half a second
    import psutil

    if machine.threads is not None:
        import torch

        torch.set_num_threads(machine.threads)
    import revocab.training.loop  # noqa: F401  (the slow one)
    from revocab.training.train import train

    gc.enable()
    started = psutil.Process().create_time()
    train(TrainingRun(**dict(inputs), **dict(machine), settings=options, out=out, started=started))


@verb(out="JSON file to write", writes="file")
def drop_checkpoints(
    *,
    manifest: Path = Field(description="manifest.json of the training's folder"),
    options: DropJob,
    out: Path,
) -> None:
    """Remove checkpoints of a finished training that nothing is to read any more (``keep``)."""
    from revocab.training.checkpoints import drop_checkpoints

    drop_checkpoints(manifest.parent, options.steps, out)
