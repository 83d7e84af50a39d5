"""Train a model folder on packed rows: the whole run, resumable, from inputs to manifest."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab import io
from revocab.errors import RevocabError
from revocab.initialise.rows.source_weights import (
    FILE,
    new_rows_file,
    read_new_rows,
    read_source_weights,
)
from revocab.marker import DROPPED, is_whole, read_marker
from revocab.models.folder import ModelFolder, Which
from revocab.models.load import load_causal_lm
from revocab.models.weights import tensor_bytes
from revocab.output import ResumableFolder
from revocab.training import checkpoints, lora, resume_state
from revocab.training.data.packed_rows import MARKS, packed_manifest
from revocab.training.records import (
    ADAPTER,
    HELDOUT,
    LOSSES,
    MEASURED,
    LossTables,
    manifest_of,
    timing_of,
)
from revocab.training.resume_state import STATE_KEPT
from revocab.training.run import MicroBatch, Settings, TrainingRun, fingerprint
from revocab.vocabulary.tokenizers.identity import foreign_ids

if TYPE_CHECKING:
    import torch

    from revocab.training.data.packed_rows import PackedRows
    from revocab.training.heldout_loss import HeldoutCorpus
    from revocab.training.loop import Training
    from revocab.training.vocabulary_adapter import VocabularyAdapter

#: TensorBoard's event files.
EVENTS = "tensorboard/events.out.tfevents.*"
#: Tables that the DAG puts beside a run.
NEIGHBOURS = (
    "multiple_choice*",
    ".multiple_choice*",
    MEASURED,
    f".{MEASURED}*",
    DROPPED,
    f".{DROPPED}*",
)
#: How torch and safetensors word that a file could not be written.
DISK_ERROR = re.compile(r"No space left|File too large|quota|write.*fail|unexpected pos", re.I)


def input_checksums(run: TrainingRun) -> dict[str, Any]:
    files = [*checkpoints.weight_files(run.model), run.model / "config.json"]
    packed = packed_manifest(run.packed)
    bits = {stem: packed[f"{stem}_sha256"] for stem in MARKS if f"{stem}_sha256" in packed}
    if "chat_template" in packed:
        bits["chat_template"] = sha256(packed["chat_template"].encode()).hexdigest()
    adapters: dict[str, Any] = {}
    if run.settings.adapter is not None:  # the first ones, and the rows that they combine
        assert run.source is not None  # train looked
        weights, source = read_source_weights(run.model), ModelFolder(run.source)
        rows = {which: source.matrix(which, own.source_rows) for which, own in weights.items()}
        hashes = {which: sha256(tensor_bytes(rows_VD)) for which, rows_VD in rows.items()}
        adapters["source_weights"] = io.sha256(run.model / FILE)
        adapters["source"] = {which: digest.hexdigest() for which, digest in hashes.items()}
    if run.settings.trains_new_rows:
        adapters["new_rows"] = io.sha256(new_rows_file(run.model))
    model = {file.name: io.sha256(file) for file in files}
    heldout = io.sha256(run.heldout / "manifest.json")
    return {"model": model, **adapters, "packed": packed["sha256"], **bits, "heldout": heldout}


def tables_of(settings: Settings) -> tuple[str, ...]:
    return (LOSSES, HELDOUT, *([ADAPTER] if settings.adapter else []))


def output_folder(run: TrainingRun) -> ResumableFolder:
    """Return the folder of a run, checked: other jobs' folders and scores may stand in it."""
    root = run.out / "state"
    return ResumableFolder(
        run.out,
        "training run",
        [run.model, run.packed, run.heldout, run.source],
        names=(
            *(f"{folder.name}/*" for folder in (root, resume_state.discarded(root))),
            *("manifest.json", "timing.json", LOSSES, HELDOUT, ADAPTER, EVENTS),
        ),
        parts={"checkpoints": checkpoints.KIND, "adapters": lora.KIND},
        neighbours=NEIGHBOURS,
    )


def finished_manifest(run: TrainingRun) -> dict[str, Any] | None:
    """Return the manifest in ``run.out`` if it is of this very run and all it names is there."""
    path = run.out / "manifest.json"
    if not path.is_file():
        return None
    manifest = io.read_json(path)
    best = [manifest["best"]] if "best" in manifest else []
    parts = (*manifest.get("checkpoints", ()), *best, *manifest.get("adapters", ()))
    named = [run.out / entry["path"] for entry in parts]
    tables = [run.out / name for name in tables_of(run.settings)]
    whole = all(map(is_whole, named)) and all(map(Path.is_file, tables))
    # Plain data of both, since JSON knows no tuples; the inputs are hashed last: they are large.
    if not whole or manifest.get("settings") != json.loads(json.dumps(run.settings.described())):
        return None
    return manifest if manifest.get("inputs") == input_checksums(run) else None


@dataclass(frozen=True)
class TrainingInputs:
    """What a run reads, loaded and checked: see :func:`load_inputs`."""

    model: Any
    dtype: Any
    packed: PackedRows
    heldout: list[HeldoutCorpus]
    checksums: dict[str, Any]
    #: Those of the first stage, by their matrices; empty where it trains none.
    vocabulary_adapters: Mapping[tuple[Which, ...], VocabularyAdapter]
    #: Which rows are new (bool), where a stage trains these alone.
    new_V: torch.Tensor | None = None


def load_inputs(run: TrainingRun) -> TrainingInputs:
    """Load data and model (float32 weights whatever the source's dtype); check that they fit.

    Raises :class:`RevocabError` for damaged or too little data, for data mixed for other stages,
    for ids or lengths that the model does not have, and for what
    :func:`revocab.models.load.check_model` refuses.
    """
    import torch
    from transformers import AutoConfig

    from revocab.training.data.packed_rows import check_fit, check_recipe, open_packed
    from revocab.training.heldout_loss import open_heldout
    from revocab.training.vocabulary_adapter import open_adapters

    settings = run.settings
    rows = settings.steps * settings.batch_size
    packed = open_packed(run.packed, rows, settings.batch_size, settings.seed)
    check_recipe(packed.manifest, settings)
    heldout, manifest = open_heldout(run.heldout)
    if settings.keep_best:
        judged, trained_on = [corpus.name for corpus in heldout], packed.manifest["corpora"]
        if not {*judged} & {*trained_on}:
            raise RevocabError(
                "keep_best: no held-out text of a corpus that is trained on (trained on:"
                f" {', '.join(trained_on)}; held out: {', '.join(judged) or 'none'}); pack held-out"
                " text of one (evaluation.heldout), or set keep_best: false"
            )
    config = AutoConfig.from_pretrained(run.model, local_files_only=True, trust_remote_code=False)
    read = {
        run.packed: ("packed rows", packed.manifest),
        run.heldout: ("held-out windows", manifest),
    }
    check_fit(packed, config, run.model, manifest, foreign_ids(run.model, read))
    model = load_causal_lm(run.model, dtype=torch.float32, padding=True, config=config)
    dtype = checkpoints.stored_dtype(run.model)
    adapters: dict[tuple[Which, ...], VocabularyAdapter] = {}
    if settings.adapter is not None and run.source is not None:
        adapters = open_adapters(model, run.model, run.source, settings.adapter)
    new_V = None
    if settings.trains_new_rows:
        matrix: Any = model.get_input_embeddings().weight
        new_V = read_new_rows(run.model, len(matrix))
    checksums = input_checksums(run)
    return TrainingInputs(model, dtype, packed, heldout, checksums, adapters, new_V)


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
    _check_source(run)
    done = finished_manifest(run)
    if done is not None:
        if output is not None:
            _tell(f"{run.out}: this training is finished; nothing to do")
            resume_state.discard(run.out / "state")
            marker = read_marker(run.out)
            if marker is None or not marker.finished:  # killed just before
                output.finish()
        return done if writes else {}
    training, state = _prepared(run, output)
    with _explained(run), training.saving.listening():
        training.train(state)
        if training.tables is not None:
            training.tables.close()
            resumed_from = resume_state.step_of(state) if state is not None else 0
            io.write_json(run.out / "timing.json", timing_of(training, began, resumed_from))
        # Of a launcher's processes, the first to end takes the others with it.
        training.accelerator.wait_for_everyone()
    if training.step < run.settings.steps:
        if not writes:
            raise SystemExit(1)
        raise RevocabError(
            f"{run.out}: stopped by SIGTERM; the state of step {training.step} of"
            f" {run.settings.steps} is saved: run the same command again to go on from it"
        )
    if not writes:
        return {}
    best = {}
    if run.settings.keep_best:
        corpora = training.packed.manifest["corpora"]
        best = checkpoints.keep_best(run.out, run.settings.checkpoint_steps, corpora)
    manifest = manifest_of(run, training.inputs, best)
    io.write_json(run.out / "manifest.json", manifest)
    resume_state.discard(run.out / "state")
    assert output is not None  # it writes
    output.finish()
    return manifest


def _check_source(run: TrainingRun) -> None:
    if run.settings.adapter is not None and run.source is None:
        raise RevocabError(
            "--source: the first stage trains vocabulary adapters, combinations of source rows, and"
            " received none; give the model that --model was made from"
        )
    if not run.settings.reads_source and run.source is not None:
        raise RevocabError(
            f"--source {run.source}: only vocabulary adapters read it, and no stage"
            " has them; leave it out, or give the first stage an adapter"
        )


def _prepared(run: TrainingRun, output: ResumableFolder | None) -> tuple[Training, Path | None]:
    """Load what a run needs and clear its folder; return the training and the state to resume.

    ``output`` is ``None`` in a process that does not write.
    """
    from transformers.utils import logging

    from revocab.training.loop import Training, accelerator_of

    logging.set_verbosity_warning()
    logging.disable_progress_bar()
    writes, root = output is not None, run.out / "state"
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    micro = MicroBatch.of(run.settings.batch_size, run.micro_batch, processes, root)
    inputs = load_inputs(run)
    # Makes the process group under torchrun, by which the others wait for the first one's look.
    accelerator = accelerator_of(run)
    mark = fingerprint(run.settings, inputs.checksums)
    with accelerator.main_process_first():
        state = resume_state.find(root, mark, _tell if writes else None)
        recorded = micro.recorded() if resume_state.belongs(root, mark) else None
    tables = None
    if output is not None:  # remove what an earlier or killed run left, but for a state to resume
        output.hold()
        output.remove("manifest.json", "timing.json")
        if state is None:
            # The state goes before the checkpoints that it stands on, so that a kill in between
            # leaves none that would go on without them.
            resume_state.discard(root)
            output.remove("checkpoints", "adapters", EVENTS)
            resume_state.begin(root, mark)
        names = tables_of(run.settings)
        tables = LossTables(run.out, names, resume_from=state, events=run.tensorboard)
    training = Training(run, inputs, accelerator, tables, micro)
    training.choose_micro_batch(recorded)
    if writes and state is not None:
        _tell(f"resuming from step {resume_state.step_of(state)} ({state})")
    return training, state


@contextmanager
def _explained(run: TrainingRun) -> Iterator[None]:
    import torch
    from safetensors import SafetensorError

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise RevocabError(
            f"{run.out}: out of memory outside of the forward and backward pass; a smaller"
            f" micro_batch will not help; {STATE_KEPT}: set fsdp on several devices, or use"
            " one with more memory, and run the same command again"
        ) from error
    except (OSError, RuntimeError, SafetensorError) as error:
        # A full disk has three faces: the system's, torch's and safetensors' own.
        if not (isinstance(error, OSError) or DISK_ERROR.search(str(error))):
            raise
        cause = getattr(error, "strerror", None) or f"a file could not be written ({error})"
        raise RevocabError(
            f"{run.out}: {cause}; {STATE_KEPT}: fix the cause and run the same command again to"
            " resume from it"
        ) from error


def _tell(message: str) -> None:
    print(message, file=sys.stderr)
