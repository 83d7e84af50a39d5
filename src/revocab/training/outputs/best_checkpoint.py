"""The best checkpoint of a training: that of the lowest held-out loss, under a name of its own.

The name lets what follows be planned before anybody knows which step it is. Only corpora that are
trained on count, so that a group of languages is not judged by another's.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from revocab.closed import BEST
from revocab.errors import RevocabError
from revocab.folder_claim import CLAIM, files_below
from revocab.models.links import link_or_copy
from revocab.output import OutputFolder
from revocab.training.outputs.checkpoints import KIND, step_folder
from revocab.training.outputs.loss_tables import HELDOUT


def best_folder(out: Path) -> Path:
    return out / "checkpoints" / BEST


def check_judged(heldout: Collection[str], trained_on: Collection[str]) -> None:
    """Raise :class:`RevocabError` if no corpus that is trained on has held-out text."""
    if not {*heldout} & {*trained_on}:
        raise RevocabError(
            "keep_best: no held-out text of a corpus that is trained on (trained on:"
            f" {', '.join(trained_on)}; held out: {', '.join(heldout) or 'none'}); pack held-out"
            " text of one (evaluation.heldout), or set keep_best: false"
        )


def heldout_means(rows: Iterable[Mapping[str, str]], corpora: Collection[str]) -> dict[int, float]:
    """Return the loss in nats per predicted token over ``corpora`` taken together, by step."""
    sums: dict[int, tuple[float, int]] = {}
    for row in rows:
        if row["corpus"] in corpora:
            loss, tokens = sums.get(int(row["step"]), (0.0, 0))
            size = int(row["tokens"])
            sums[int(row["step"])] = (loss + float(row["loss"]) * size, tokens + size)
    return {step: loss / tokens for step, (loss, tokens) in sums.items()}


def best_step(means: Mapping[int, float], checkpoints: Iterable[int]) -> int:
    """Return the checkpoint with the lowest loss; of equal ones the earliest."""
    return min(sorted(checkpoints), key=lambda step: means.get(step, math.inf))


def keep_best(out: Path, checkpoints: Iterable[int], corpora: Collection[str]) -> dict[str, Any]:
    """Put the best checkpoint beside the others, its files linked; return what a manifest says.

    Losses are those of ``heldout.csv``, in which a resumed training has every step once.
    """
    with (out / HELDOUT).open(encoding="utf-8", newline="") as file:
        means = heldout_means(csv.DictReader(file), corpora)
    step = best_step(means, checkpoints)
    source = step_folder(out, step)
    with OutputFolder(best_folder(out), KIND).replaced(keeps_job=False) as folder:
        for name in files_below(source):
            if name != Path(CLAIM):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(source / name, folder / name)
    path = str(best_folder(Path()))
    return {"best": {"step": step, "path": path, "heldout_loss": means[step]}}
