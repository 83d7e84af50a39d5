"""Pico models with a new vocabulary, the source models that teach them, and text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toy_folders import adapt
from toy_models import build_toys

from revocab import io
from revocab.training.data.heldout import HeldoutJob, pack_heldout_folder
from revocab.training.data.packed_folder import pack_folder
from revocab.training.data.packed_rows import PackedRows, open_packed
from revocab.training.data.packing import PackingJob
from revocab.training.run import Settings, TrainingRun
from revocab.training.stage import Stage

TEXTS = (
    "il gatto e il cane sono a casa", "the cat sat on the mat", "perché è così il cane",
    "a casa il gatto sat on the mat", "the dog ran to the house e il gatto",
)  # fmt: skip
LENGTH, BATCH, STEPS = 24, 4, 6
EVERYTHING = {"name": "everything", "steps": 3, "learning_rate": 1e-3}


def write_folders(root: Path, toys: Path, steps: int = 9) -> Path:
    """Adapt the toys, tied and not, and pack rows of some steps and held-out text for them."""
    for name in ("untied", "tied"):
        (root / name).symlink_to(toys / name)
        adapt(toys, root / f"{name}-adapted", name)
    rows = [{"id": str(n), "text": f"{TEXTS[n % 5]} {TEXTS[(n * 3 + 1) % 5]}"} for n in range(60)]
    write_packed_text(root, toys / "target-tokenizer", rows, steps)
    return root


def write_packed_text(
    root: Path, tokenizer: Path, rows: list[dict[str, str]], steps: int = 9
) -> None:
    """Write documents as ``packed`` and ``heldout`` of a tokenizer."""
    (root / "it").mkdir(exist_ok=True)
    io.write_jsonl(root / "it/train.jsonl.gz", rows)
    io.write_jsonl(root / "it/heldout.jsonl.gz", rows[:2])
    size = sum(len(row["text"].encode()) for row in rows)
    io.write_json(root / "it/manifest.json", {"language": "it", "train": {"bytes": size}})
    job = PackingJob(sequence_length=LENGTH, rows=BATCH * steps, seed=17, repeat_corpora=True)
    pack_folder(tokenizer, {"it": root / "it"}, job, root / "packed")
    held = HeldoutJob(sequence_length=LENGTH)
    pack_heldout_folder(tokenizer, {"it": root / "it"}, held, root / "heldout")


def taught_run(
    root: Path, out: Path, *stages: dict[str, Any], name: str = "untied", **changes: Any
) -> TrainingRun:
    """Return a run of some stages on one of the adapted toys."""
    settings = Settings(
        batch_size=BATCH, learning_rate=1e-2, weight_decay=0.3,
        stages=[Stage(**stage) for stage in stages],
        **{
            "steps": sum(stage["steps"] for stage in stages), "checkpoint_every": 3, "seed": 17,
            **changes,
        },
    )  # fmt: skip
    return TrainingRun(
        model=root / f"{name}-adapted", source=root / name, packed=root / "packed",
        heldout=root / "heldout", out=out, settings=settings,
    )  # fmt: skip


def write_inputs(root: Path) -> Path:
    """Write what :func:`run_of` reads, from the toys on."""
    root.mkdir()
    return write_folders(root, build_toys(root / "toys"), steps=60)


def run_of(inputs: Path, out: Path, *, stages: list[Stage], **changes: Any) -> TrainingRun:
    """Return a run of the untied toy, for ``kill_repeatedly``."""
    plain = [stage.model_dump(exclude_none=True) for stage in stages]
    return taught_run(inputs, out, *plain, **changes)


def opened(run: TrainingRun) -> PackedRows:
    """Return the packed rows of a run as it reads them."""
    settings = run.settings
    return open_packed(run.packed, settings.steps * BATCH, BATCH, settings.seed)
