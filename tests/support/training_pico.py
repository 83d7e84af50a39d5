"""A pico model, packed rows of a learnable pattern and held-out windows, for tests of training.

``adapted`` has rows made of those of ``source``, from which vocabulary adapters are trained; those
that are no copies are its new rows.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from revocab import io
from revocab.initialise.rows.source_weights import (
    SourceWeights,
    mean_weights,
    write_new_rows,
    write_source_weights,
)
from revocab.marker import MARKER
from revocab.training.loop import Training
from revocab.training.run import Settings, TrainingRun
from revocab.training.train import train

VOCABULARY, SOURCE_ROWS, LENGTH, BATCH = 64, 40, 16, 4
RECIPE = {
    "steps": 6,
    "batch_size": BATCH,
    "learning_rate": 1e-2,
    "checkpoint_every": 4,
    "seed": 17,
    "warmup_steps": 2,
    "weight_decay": 0.3,
}


def write_inputs(root: Path) -> Path:
    """Write pico Mistrals in bfloat16, packed rows, and held-out windows under ``root``."""
    from safetensors.numpy import save_file

    pico_mistral().save_pretrained(root / "model")
    write_adapted(root)
    random = np.random.default_rng(0)
    tokens = (random.integers(0, 8, (800, 1)) + 3 * np.arange(LENGTH)) % VOCABULARY
    write_packed(root / "packed", tokens.astype(np.uint16))
    (root / "heldout").mkdir()
    windows = {
        "input_ids": tokens[:6].astype(np.int32),
        "lengths": np.array([16, 3, 16, 2, 9, 16], dtype=np.int32),
    }
    save_file(windows, root / "heldout" / "it.safetensors")
    described = {
        "language": "it", "documents": 6, "bytes": 100, "tokens": 56,
        "sha256": io.sha256(root / "heldout" / "it.safetensors"),
    }  # fmt: skip
    heldout = {"corpora": {"it": described}, "sequence_length": LENGTH, "vocabulary_size": 64}
    io.write_json(root / "heldout" / "manifest.json", heldout)
    return root


def pico_mistral(rows: int = VOCABULARY, **changes: object) -> Any:
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=rows, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32, **changes,
    )  # fmt: skip
    return MistralForCausalLM(config).to(torch.bfloat16)


def pico_weights() -> SourceWeights:
    """Return rows of 40 source tokens: every third shared, two drawn, the others of pieces."""
    import torch

    generator = torch.Generator().manual_seed(1)

    def row(token: int) -> Any:
        if token in (20, 44):
            drawn_V = torch.rand(SOURCE_ROWS, generator=generator)
            return drawn_V / drawn_V.sum()
        pieces = ([token % 40], [token % 7, token % 5, token % 7], [39 - token % 20, 8])
        return mean_weights(pieces[token % 3])

    rows = SourceWeights.of(map(row, range(VOCABULARY)), SOURCE_ROWS)
    return replace(rows, shared_S=torch.arange(0, VOCABULARY, 3))


def new_ids() -> Any:
    import torch

    copied = {*pico_weights().shared_S.tolist()}
    return torch.tensor([token for token in range(VOCABULARY) if token not in copied])


def write_adapted(root: Path, **changes: object) -> None:
    """Write ``source``, and ``adapted``, whose rows are :func:`pico_weights` of the source's."""
    import torch

    from revocab.training.stages import matrices_of

    source, adapted = pico_mistral(SOURCE_ROWS, **changes), pico_mistral(**changes)
    weights = pico_weights()
    matrices = matrices_of(source), matrices_of(adapted)
    with torch.no_grad():
        for (_, old), (_, new) in zip(*matrices, strict=True):
            new.copy_(weights.combine(old.float(), slice(0, VOCABULARY)))
    source.save_pretrained(root / "source")
    adapted.save_pretrained(root / "adapted")
    whichs = [which for which, _ in matrices_of(adapted)]
    write_source_weights(root / "adapted", dict.fromkeys(whichs, weights))
    write_new_rows(root / "adapted", new_ids())


def with_texts_of(inputs: Path, root: Path) -> Path:
    """Give ``root``, which has models of its own, the rows and windows of ``inputs``."""
    for name in ("packed", "heldout"):
        (root / name).symlink_to(inputs / name)
    return root


def write_packed(folder: Path, tokens: np.ndarray, **changes: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "tokens.npy", tokens)
    packed = {
        "rows": len(tokens), "sequence_length": tokens.shape[1], "tokens": tokens.size,
        "tokens_per_byte": 0.5, "largest_id": int(tokens.max()), "seed": RECIPE["seed"],
        "corpora": {"it": {"rows": len(tokens)}}, "sha256": io.sha256(folder / "tokens.npy"),
        **changes,
    }  # fmt: skip
    io.write_json(folder / "manifest.json", packed)


def run_of(
    inputs: Path, out: Path, micro_batch: int | None = None, **changes: object
) -> TrainingRun:
    settings = Settings(**{**RECIPE, **changes})
    return TrainingRun(
        **folders_of(inputs, settings), out=out, settings=settings, micro_batch=micro_batch
    )


def changed(run: TrainingRun, **changes: object) -> TrainingRun:
    return TrainingRun(**{**dict(run), **changes})


def folders_of(inputs: Path, settings: Settings) -> dict[str, Path]:
    folders = {name: inputs / name for name in ("model", "packed", "heldout")}
    if settings.adapter or settings.trains_new_rows:
        folders["model"] = inputs / "adapted"
    return {**folders, "source": inputs / "source"} if settings.adapter else folders


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def batches(inputs: Path) -> Any:
    """Return the ids of the packed rows, [steps, rows of a step, length]."""
    import torch

    tokens = np.load(inputs / "packed/tokens.npy").astype(np.int64)
    return torch.from_numpy(tokens).view(-1, BATCH, LENGTH)


def textbook_loss(logits_BLV: Any, ids_BL: Any) -> Any:
    from torch.nn import functional

    logits_NV = logits_BLV[:, :-1].reshape(-1, VOCABULARY)
    return functional.cross_entropy(logits_NV, ids_BL[:, 1:].reshape(-1))


def moved(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """Return the names of the tensors that are not equal, bit for bit."""
    assert before.keys() == after.keys()
    return {name for name in before if not bool((before[name] == after[name]).all())}


def losses(out: Path) -> list[float]:
    return [float(row["loss"]) for row in table(out / "losses.csv")]


def at(out: Path, step: int) -> Path:
    return out / "checkpoints" / f"step-{step:06d}"


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


def stop_training(run: TrainingRun, after: int) -> None:
    """Train as a process does that Ctrl-C reaches when step ``after`` is finished."""
    usual = Training.finish_step

    def stop(training: Training, *measured: Any) -> None:
        usual(training, *measured)
        if training.step == after:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Training, "finish_step", stop)
        train(run)


def assert_same(out: Path, whole: Path, *, but: tuple[str, ...] = ()) -> None:
    """Two runs have the same files, and all but the timing and those named the same bytes.

    The run's own marker is left out: it has the hash of the timing. Those of checkpoints are not.
    """
    names = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(out) for path in out.rglob("*") if path.is_file())
    for name in names:
        if name.name not in ("timing.json", *but) and name != Path(MARKER):
            assert (out / name).read_bytes() == (whole / name).read_bytes(), name
