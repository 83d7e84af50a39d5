"""Train a model folder on packed rows: the whole run, resumable, from inputs to manifest."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab import io
from revocab.errors import RevocabError
from revocab.training import checkpoints, state
from revocab.training.settings import Settings, fingerprint

if TYPE_CHECKING:
    from revocab.training.trainer import RecipeTrainer


@dataclass(frozen=True)
class Run:
    """Where one training run reads and writes."""

    model: Path
    packed: Path
    heldout: Path
    out: Path
    settings: Settings
    micro_batch: int | None = None
    #: Seconds since the epoch when the process started, for the start-up time.
    started: float | None = None


def input_checksums(run: Run) -> dict[str, Any]:
    """Return SHA-256 of the weights, the configuration and the data that ``run`` reads."""
    files = [*checkpoints.weight_files(run.model), run.model / "config.json"]
    return {
        "model": {file.name: io.sha256(file) for file in files},
        "packed": io.read_json(run.packed / "manifest.json")["sha256"],
        "heldout": io.sha256(run.heldout / "manifest.json"),
    }


def train(run: Run) -> dict[str, Any]:
    """Train, resuming from the last good state if there is one; return the manifest.

    Writes ``checkpoints/step-NNNNNN/``, ``losses.csv``, ``heldout.csv``, ``timing.json``, and
    ``manifest.json`` last; ``state/`` lives only while the run is unfinished. Only the first of several
    processes (torchrun) writes. Raises :class:`RevocabError` for inputs that do not fit each other.
    """
    began = time.time()
    import torch
    import transformers

    from revocab.training.data import check_fit, open_packed
    from revocab.training.evaluate import heldout_rows, open_heldout
    from revocab.training.tables import HELDOUT, Tables
    from revocab.training.trainer import RecipeTrainer, training_arguments

    transformers.logging.set_verbosity_warning()
    transformers.logging.disable_progress_bar()
    settings = run.settings
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    main_process = os.environ.get("RANK", "0") == "0"
    micro, passes = settings.micro_batch(run.micro_batch, processes)
    packed = open_packed(run.packed, settings.steps * settings.batch_size)
    corpora, heldout_manifest = open_heldout(run.heldout)
    config = transformers.AutoConfig.from_pretrained(run.model, local_files_only=True)
    check_fit(packed, config, run.model, heldout_manifest)
    checksums = input_checksums(run)
    dtype = checkpoints.stored_dtype(run.model)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        run.model,
        config=config,
        dtype=torch.float32,
        attn_implementation="sdpa",
        local_files_only=True,
    )
    # Makes the process group under torchrun, so that all processes can wait for the first below.
    args = training_arguments(settings, micro, passes, run.out / "state")
    mark = fingerprint(settings, checksums)
    found: Path | None = None
    with args.main_process_first(local=False):
        found = state.find(run.out / "state", mark, _tell if main_process else _silent)
    if main_process:
        _clear(run.out, mark, keep_state=found is not None)
    tables = Tables(run.out, resume_from=found) if main_process else None
    spent = {"evaluation": 0.0, "export": 0.0}

    def evaluate(step: int) -> None:
        begin = time.perf_counter()
        rows = heldout_rows(model, corpora, step)
        if tables is not None:
            tables.append(HELDOUT, rows)
        spent["evaluation"] += time.perf_counter() - begin

    def at_checkpoint(step: int) -> None:
        begin = time.perf_counter()
        weights = trainer.accelerator.get_state_dict(trainer.model_wrapped)
        if main_process:
            folder = checkpoints.step_folder(run.out, step)
            checkpoints.export(model, weights, dtype, run.model, folder)
        spent["export"] += time.perf_counter() - begin
        evaluate(step)

    trainer = RecipeTrainer(model, args, packed, settings, tables, at_checkpoint)
    if found is None:
        evaluate(0)
    else:
        _tell(f"going on from step {state.step_of(found)} ({found})")
    try:
        trainer.train(resume_from_checkpoint=str(found) if found is not None else None)
    except OSError as error:
        raise RevocabError(
            f"{run.out}: {error.strerror or error}; the last good state is kept: mend the cause and "
            "run the same command again to go on from it"
        ) from error
    if tables is None:
        return {}
    tables.close()
    _write_timing(run, trainer, began, spent, resumed=found)
    manifest = _manifest(run, packed.manifest, checksums)
    io.write_json(run.out / "manifest.json", manifest)
    shutil.rmtree(run.out / "state", ignore_errors=True)
    return manifest


def _tell(message: str) -> None:
    """Print a message about resuming to standard error."""
    print(message, file=sys.stderr)


def _silent(message: str) -> None:
    """Print nothing."""


def _clear(out: Path, mark: str, *, keep_state: bool) -> None:
    """Remove what an earlier or killed run left: everything, or all but state and whole checkpoints."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "manifest.json").unlink(missing_ok=True)
    (out / "timing.json").unlink(missing_ok=True)
    if not keep_state:
        shutil.rmtree(out / "checkpoints", ignore_errors=True)
        state.begin(out / "state", mark)
    for leftover in (out / "checkpoints").glob(".*.part"):
        shutil.rmtree(leftover, ignore_errors=True)


def _write_timing(
    run: Run,
    trainer: RecipeTrainer,
    began: float,
    spent: Mapping[str, float],
    *,
    resumed: Path | None,
) -> None:
    """Write ``timing.json``: of this process only, so a resumed run counts from where it resumed."""
    import resource

    import torch

    clock = trainer.clock
    tokens = clock.steps * run.settings.batch_size * trainer.packed.sequence_length
    started = run.started or began
    io.write_json(
        run.out / "timing.json",
        {
            "seconds": time.time() - started,
            "startup_seconds": (clock.first_step or time.time()) - started,
            "training_seconds": clock.training,
            "evaluation_seconds": spent["evaluation"],
            "export_seconds": spent["export"],
            "tokens_per_second": tokens / clock.training if clock.training else 0.0,
            "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "peak_device_memory_bytes": (
                torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None
            ),
            "resumed_from_step": state.step_of(resumed) if resumed is not None else 0,
            "threads": torch.get_num_threads(),
            "device": str(trainer.args.device),
        },
    )


def _manifest(run: Run, packed: Mapping[str, Any], checksums: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a finished run: nothing in it depends on time, place or number of processes."""
    import accelerate
    import torch
    import transformers

    settings = run.settings
    steps = sorted(
        {*range(settings.checkpoint_every, settings.steps + 1, settings.checkpoint_every)}
        | {settings.steps}
    )
    rows = settings.steps * settings.batch_size
    tokens = rows * packed["sequence_length"]
    return {
        "steps": settings.steps,
        "tokens": tokens,
        "bytes": round(tokens / packed["tokens_per_byte"]),
        "sequence_length": packed["sequence_length"],
        "checkpoints": [
            {"step": step, "path": str(checkpoints.step_folder(Path(), step))} for step in steps
        ],
        "settings": asdict(settings),
        "corpora": packed["corpora"] if rows == packed["rows"] else None,
        "inputs": dict(checksums),
        "versions": {
            module.__name__: module.__version__ for module in (accelerate, torch, transformers)
        },
    }
