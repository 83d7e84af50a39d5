"""Train a model folder on packed rows: the whole run, resumable, from inputs to manifest."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab import io
from revocab.code_identity import changes
from revocab.errors import RevocabError
from revocab.folder_claim import is_whole, read_claim
from revocab.models.load import load_causal_lm
from revocab.output import ResumableFolder, running_code
from revocab.training import checkpoints, lora, resume_state
from revocab.training.costs import (
    Costs,
    EnergyMeter,
    costs_of,
    mean_flops_per_token,
    measured_peak,
)
from revocab.training.loss_tables import HELDOUT, LOSSES, LossTables
from revocab.training.settings import Settings, fingerprint

if TYPE_CHECKING:
    from revocab.training.heldout_loss import HeldoutCorpus
    from revocab.training.packed_rows import PackedRows
    from revocab.training.trainer import RecipeTrainer

#: What packed rows may have a bit for, of every token.
BITS = ("starts", "answers")
#: TensorBoard's event files.
EVENTS = "tensorboard/events.out.tfevents.*"
#: Score tables that the DAG puts beside a run.
NEIGHBOURS = ("multiple_choice*", ".multiple_choice*")
#: How torch and safetensors word that a file could not be written.
DISK_ERROR = re.compile(r"No space left|File too large|quota|write.*fail|unexpected pos", re.I)


@dataclass(frozen=True)
class TrainingRun:
    """Where one training run reads and writes."""

    model: Path
    packed: Path
    heldout: Path
    out: Path
    settings: Settings
    micro_batch: int | None = None
    #: Arguments of ``trainer.TrainingEngine``, which is slow to import.
    engine: Mapping[str, bool] = field(default_factory=dict)
    costs: Costs = field(default_factory=Costs)
    #: Write TensorBoard event files, too.
    tensorboard: bool = False
    #: Seconds since the epoch when the process started, for the start-up time.
    started: float | None = None


def input_checksums(run: TrainingRun) -> dict[str, Any]:
    """Return SHA-256 of the weights, the configuration and the data that ``run`` reads."""
    files = [*checkpoints.weight_files(run.model), run.model / "config.json"]
    packed = io.read_json(run.packed / "manifest.json")
    bits = {stem: packed[f"{stem}_sha256"] for stem in BITS if f"{stem}_sha256" in packed}
    if "chat_template" in packed:
        bits["chat_template"] = hashlib.sha256(packed["chat_template"].encode()).hexdigest()
    return {
        "model": {file.name: io.sha256(file) for file in files},
        "packed": packed["sha256"],
        **bits,
        "heldout": io.sha256(run.heldout / "manifest.json"),
    }


def output_folder(run: TrainingRun) -> ResumableFolder:
    """Return the folder of a run, checked: other jobs' folders and scores may stand in it."""
    root = run.out / "state"
    return ResumableFolder(
        run.out,
        "training run",
        [run.model, run.packed, run.heldout],
        names=(
            *(f"{folder.name}/*" for folder in (root, resume_state.discarded(root))),
            *("manifest.json", "timing.json", LOSSES, HELDOUT, EVENTS),
        ),
        parts={"checkpoints": checkpoints.KIND, "adapters": lora.KIND},
        neighbours=NEIGHBOURS,
    )


def finished_manifest(run: TrainingRun) -> dict[str, Any] | None:
    """Return the manifest in ``run.out`` if it is of this very run and all it names is there."""
    path = run.out / "manifest.json"
    if not path.is_file():
        return None
    found = io.read_json(path)
    parts = (*found.get("checkpoints", ()), *found.get("adapters", ()))
    named = [run.out / entry["path"] for entry in parts]
    tables = [run.out / name for name in (LOSSES, HELDOUT)]
    whole = all(map(is_whole, named)) and all(map(Path.is_file, tables))
    # Plain data of both, since JSON knows no tuples; the inputs are hashed last: they are large.
    if not whole or found.get("settings") != json.loads(json.dumps(run.settings.described())):
        return None
    return found if found.get("inputs") == input_checksums(run) else None


@dataclass(frozen=True)
class TrainingInputs:
    """What a run reads, loaded and checked: see :func:`load_inputs`."""

    model: Any
    dtype: Any
    packed: PackedRows
    heldout: list[HeldoutCorpus]
    checksums: dict[str, Any]


def load_inputs(run: TrainingRun) -> TrainingInputs:
    """Load data and model (float32 weights whatever the source's dtype); check that they fit.

    Raises :class:`RevocabError` for damaged or too little data, for data mixed for other stages,
    for ids or lengths that the model does not have, and for what
    :func:`revocab.models.load.check_model` refuses.
    """
    import torch
    from transformers import AutoConfig

    from revocab.training.heldout_loss import open_heldout
    from revocab.training.packed_rows import check_fit, check_loss, check_stages, open_packed

    settings = run.settings
    rows = settings.steps * settings.batch_size
    packed = open_packed(run.packed, rows, settings.batch_size, settings.seed)
    check_loss(packed.manifest, settings)
    check_stages(packed.manifest, settings)
    heldout, manifest = open_heldout(run.heldout)
    checksums = input_checksums(run)
    config = AutoConfig.from_pretrained(run.model, local_files_only=True, trust_remote_code=False)
    check_fit(packed, config, run.model, manifest)
    model = load_causal_lm(
        run.model, dtype=torch.float32, config=config, attn_implementation="sdpa"
    )
    return TrainingInputs(model, checkpoints.stored_dtype(run.model), packed, heldout, checksums)


class CheckpointWork:
    """What is done between steps: held-out losses, and at a checkpoint the weights are exported."""

    def __init__(self, run: TrainingRun, inputs: TrainingInputs, tables: LossTables | None):
        self.run = run
        self.inputs = inputs
        self.tables = tables
        self.evaluation_seconds = 0.0
        self.before_training = 0.0
        self.export_seconds = 0.0

    def evaluate(self, trainer: RecipeTrainer, step: int) -> None:
        """Append the held-out losses of the model as it stands; processes share the batches."""
        from revocab.training.heldout_loss import check_heldout, heldout_rows

        begin = time.perf_counter()
        sharded = trainer.is_fsdp_enabled
        model = trainer.model_wrapped if sharded else self.inputs.model
        rows = heldout_rows(model, self.inputs.heldout, step, through_forward=sharded)
        check_heldout(rows)
        if self.tables is not None:
            self.tables.append(HELDOUT, rows)
        self.evaluation_seconds += time.perf_counter() - begin

    def __call__(self, trainer: RecipeTrainer, step: int) -> None:
        """Evaluate after ``step``, 0 being the model before training; export a checkpoint.

        Nothing is exported of a model whose losses or weights are not finite.
        """
        self.evaluate(trainer, step)
        if step == 0:
            self.before_training = self.evaluation_seconds
        if step not in self.run.settings.checkpoint_steps:
            return
        begin = time.perf_counter()
        self.export(trainer, step)
        self.export_seconds += time.perf_counter() - begin

    def export(self, trainer: RecipeTrainer, step: int) -> None:
        """Write the checkpoint at ``step``, and the adapter where the stage trains one."""
        from revocab.training.sharded_export import export_sharded, sharded_weights

        run, dtype, writes = self.run, self.inputs.dtype, self.tables is not None
        folder = checkpoints.step_folder(run.out, step)
        chat = self.inputs.packed.manifest.get("chat_template")
        if trainer.is_fsdp_enabled:
            weights = sharded_weights(trainer.model_wrapped)
            export_sharded(weights, dtype, run.model, folder, writes=writes, chat_template=chat)
        elif writes:
            weights, adapters = trainer.whole_weights(), trainer.adapters
            checkpoints.export(
                self.inputs.model, adapters.merged(weights), dtype, run.model, folder, chat
            )
            folder, stage = checkpoints.adapter_folder(run.out, step), trainer.plan.index(step - 1)
            adapters.export(weights, trainer.groups, stage, dtype, folder)


def train(run: TrainingRun) -> dict[str, Any]:
    """Train, resuming from the last good state if there is one; return the manifest.

    A run that is finished, with the same settings and inputs, is left as it is.
    Writes ``checkpoints/step-NNNNNN/``, ``losses.csv``, ``heldout.csv``, ``timing.json``, and
    ``manifest.json`` last; ``state/`` lives only while the run is unfinished. Of several processes
    (torchrun) only the first writes and returns the manifest. Raises :class:`RevocabError`, see
    :func:`load_inputs`.
    """
    began = run.started or time.time()
    writes = os.environ.get("RANK", "0") == "0"
    output = output_folder(run) if writes else None
    done = finished_manifest(run)
    if done is not None:
        if output is not None:
            _tell(f"{run.out}: this training is finished; nothing to do")
            resume_state.discard(run.out / "state")
        return done if writes else {}
    from safetensors import SafetensorError
    from transformers.utils import logging

    from revocab.training.trainer import RecipeTrainer, TrainingEngine, training_arguments

    logging.set_verbosity_warning()
    logging.disable_progress_bar()
    micro, passes = run.settings.micro_batch(
        run.micro_batch, int(os.environ.get("WORLD_SIZE", "1"))
    )
    inputs = load_inputs(run)
    # Makes the process group under torchrun, by which the others wait for the first one's look.
    args = training_arguments(
        run.settings, micro, passes, run.out / "state", TrainingEngine(**run.engine)
    )
    mark = fingerprint(run.settings, inputs.checksums)
    with args.main_process_first(local=False):
        found = resume_state.find(run.out / "state", mark, _tell if writes else _silent)
    if output is not None:
        _clear(output, mark, keep_state=found is not None)
    tables = LossTables(run.out, resume_from=found, events=run.tensorboard) if writes else None
    work = CheckpointWork(run, inputs, tables)
    trainer = RecipeTrainer(
        inputs.model, args, packed=inputs.packed, settings=run.settings, tables=tables, work=work
    )
    if found is not None and writes:
        _tell(f"resuming from step {resume_state.step_of(found)} ({found})")
    meter = EnergyMeter(run.costs.watts)
    meter.start()
    try:
        trainer.train(resume_from_checkpoint=str(found) if found is not None else None)
    except (OSError, RuntimeError, SafetensorError) as error:
        # A full disk has three faces: the system's, torch's and safetensors' own.
        if not (isinstance(error, OSError) or DISK_ERROR.search(str(error))):
            raise
        cause = getattr(error, "strerror", None) or f"a file could not be written ({error})"
        raise RevocabError(
            f"{run.out}: {cause}; the last good state is kept: fix the cause"
            " and run the same command again to resume from it"
        ) from error
    if tables is None:
        return {}
    tables.close()
    timing = _timing(trainer, work, began)
    timing |= _costs(run, trainer, timing["tokens_per_second"], meter.read())
    timing["resumed_from_step"] = resume_state.step_of(found) if found is not None else 0
    io.write_json(run.out / "timing.json", timing)
    manifest = _manifest(run, inputs)
    io.write_json(run.out / "manifest.json", manifest)
    resume_state.discard(run.out / "state")
    return manifest


def _tell(message: str) -> None:
    """Print a message about resuming to standard error."""
    print(message, file=sys.stderr)


def _silent(message: str) -> None:
    """Print nothing."""


def _clear(output: ResumableFolder, mark: str, *, keep_state: bool) -> None:
    """Claim the folder; remove what an earlier or killed run left, but for a state to keep.

    The state goes before the checkpoints that it stands on, so that a kill in between leaves none
    that would go on without them.
    """
    root = output.path / "state"
    output.hold(goes_on=keep_state)
    if keep_state:
        _tell_of_other_code(output.path)
    output.remove("manifest.json", "timing.json")
    if not keep_state:
        resume_state.discard(root)
        output.remove("checkpoints", "adapters", EVENTS)
        resume_state.begin(root, mark)


def _tell_of_other_code(folder: Path) -> None:
    """Say what has changed since a training that goes on was begun, if anything has."""
    claim, running = read_claim(folder), running_code()
    if claim and claim.code and running and (changed := changes(claim.code, running)):
        _tell(
            f"{folder}: was begun by other code and counts as made by it (changed since:"
            f" {', '.join(changed)})"
        )


def _timing(trainer: RecipeTrainer, work: CheckpointWork, began: float) -> dict[str, Any]:
    """Return what goes into ``timing.json``, of this process only: a resumed run counts anew.

    ``startup_seconds`` runs from the start of the process to the first step, without the held-out
    losses of step 0.
    """
    import resource

    import torch

    clock = trainer.clock
    tokens = clock.steps * trainer.settings.batch_size * trainer.packed.sequence_length
    return {
        "seconds": time.time() - began,
        "startup_seconds": (clock.first_step or time.time()) - began - work.before_training,
        "training_seconds": clock.training,
        "evaluation_seconds": work.evaluation_seconds,
        "export_seconds": work.export_seconds,
        "tokens_per_second": tokens / clock.training if clock.training else 0.0,
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "peak_device_memory_bytes": (
            torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None
        ),
        "threads": torch.get_num_threads(),
        "device": str(trainer.args.device),
    }


def _costs(
    run: TrainingRun,
    trainer: RecipeTrainer,
    tokens_per_second: float,
    energy: tuple[float | None, str],
) -> dict[str, Any]:
    """Return arithmetic, utilisation, energy and CO2 for ``timing.json``."""
    import torch

    device = trainer.args.device
    wide = run.settings.precision != "bfloat16" or device.type == "cpu"
    dtype = torch.float32 if wide else torch.bfloat16
    length = trainer.packed.sequence_length
    return {
        "processes": trainer.args.world_size,
        "engine": dict(run.engine),
        **costs_of(
            run.costs,
            flops=mean_flops_per_token(trainer.model, trainer.groups, trainer.plan, length),
            tokens_per_second=tokens_per_second,
            peak=(0.0, "") if run.costs.peak_flops else measured_peak(device, dtype),
            processes=trainer.args.world_size,
            energy=energy,
        ),
    }


def _manifest(run: TrainingRun, inputs: TrainingInputs) -> dict[str, Any]:
    """Describe a finished run: nothing in it depends on time, place or number of processes."""
    import accelerate
    import torch
    import transformers

    settings, packed = run.settings, inputs.packed.manifest
    rows = settings.steps * settings.batch_size
    tokens = rows * packed["sequence_length"]
    return {
        "steps": settings.steps,
        "tokens": tokens,
        "bytes": inputs.packed.bytes,
        "sequence_length": packed["sequence_length"],
        "checkpoints": [
            {"step": step, "path": str(checkpoints.step_folder(Path(), step))}
            for step in settings.checkpoint_steps
        ],
        **checkpoints.adapters_of(settings),
        "settings": settings.described(),
        "corpora": packed["corpora"] if rows == packed["rows"] else None,
        **({"stages": packed["stages"]} if "stages" in packed else {}),
        "inputs": inputs.checksums,
        "versions": {
            module.__name__: module.__version__ for module in (accelerate, torch, transformers)
        },
    }
