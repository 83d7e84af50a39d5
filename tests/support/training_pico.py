"""A pico model, packed rows of a learnable pattern and held-out windows, for tests of training."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from revocab import io
from revocab.training.settings import Settings
from revocab.training.shards import SHARD_BYTES, new_shards
from revocab.training.train import TrainingRun

VOCABULARY, LENGTH, BATCH = 64, 16, 4
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
    """Write a pico Mistral in bfloat16, packed rows, and held-out windows under ``root``."""
    import torch
    from safetensors.numpy import save_file
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
    )  # fmt: skip
    MistralForCausalLM(config).to(torch.bfloat16).save_pretrained(root / "model")
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


def write_packed(folder: Path, tokens: np.ndarray, **changes: object) -> None:
    """Write rows of ids as a packed folder of one shard, or of more with ``shard_bytes``."""
    shard_bytes = changes.pop("shard_bytes", SHARD_BYTES)
    with new_shards(
        folder, *tokens.shape, tokens.dtype, masks=False, shard_bytes=shard_bytes
    ) as shards:
        shards.tokens[np.arange(len(tokens))] = tokens
    packed = {
        "rows": len(tokens), "sequence_length": tokens.shape[1], "tokens": tokens.size,
        "tokens_per_byte": 0.5, "largest_id": int(tokens.max()), "seed": RECIPE["seed"],
        "corpora": {"it": {"rows": len(tokens)}}, **changes,
    }  # fmt: skip
    io.write_json(folder / "manifest.json", {**packed, **shards.described()})


def run_of(
    inputs: Path, out: Path, micro_batch: int | None = None, **changes: object
) -> TrainingRun:
    """Return a run of the pico recipe, changed where asked."""
    settings = Settings(**{**RECIPE, **changes})
    folders = {name: inputs / name for name in ("model", "packed", "heldout")}
    return TrainingRun(**folders, out=out, settings=settings, micro_batch=micro_batch)


def table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def losses(out: Path) -> list[float]:
    """Return the losses of a run, step by step."""
    return [float(row["loss"]) for row in table(out / "losses.csv")]
