"""The tables that training writes: every step's loss, held-out losses at checkpoints, and of
vocabulary adapters how far the rows of shared tokens have moved.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LOSSES = "losses.csv"
HELDOUT = "heldout.csv"
#: Held-out losses of a run that is not trained. They stand beside those of a training that the run
#: had before or gets later, so that neither has to be removed.
MEASURED = "measured_heldout.csv"
ADAPTER = "adapter.csv"
COLUMNS = {
    LOSSES: ("step", "tokens", "loss", "bits_per_byte", "learning_rate", "gradient_norm"),
    HELDOUT: (
        "step", "corpus", "language", "loss", "bits_per_byte", "tokens", "bytes"
    ),
    ADAPTER: ("step", "auxiliary_loss"),
}  # fmt: skip
#: Columns that are curves.
SCALARS = {"loss", "bits_per_byte", "learning_rate", "gradient_norm", "auxiliary_loss"}


class LossTables:
    """Append-only CSV files in the run's folder, readable while training goes on.

    A resumed run starts from the copies kept with its state, so each step appears once. With
    ``events`` each row also becomes TensorBoard scalars under ``tensorboard/``; a resumed run adds
    a file there, which hides the steps made again. ``names`` are the tables of this training.
    """

    def __init__(
        self,
        folder: Path,
        names: Iterable[str] = (LOSSES, HELDOUT),
        *,
        resume_from: Path | None,
        events: bool = False,
    ):
        self.folder = folder
        columns_of = {name: COLUMNS[name] for name in names}
        self.events = None
        if events:
            from torch.utils.tensorboard import SummaryWriter

            step = int(resume_from.name.rpartition("-")[2]) if resume_from is not None else -1
            self.events = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)
        for name, columns in columns_of.items():
            before = (
                (resume_from / name).read_bytes()
                if resume_from is not None
                else (",".join(columns) + "\n").encode()
            )
            (folder / name).write_bytes(before)
        self._handles = {
            name: (folder / name).open("a", encoding="utf-8", newline="") for name in columns_of
        }

    def append(self, name: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Append rows to table ``name`` and hand them to the operating system at once."""
        rows = list(rows)
        csv.writer(self._handles[name], lineterminator="\n").writerows(rows)
        self._handles[name].flush()
        if self.events is None:
            return
        for row in rows:
            values = dict(zip(COLUMNS[name], row, strict=True))
            place = f"heldout/{values['corpus']}" if name == HELDOUT else "train"
            for key in sorted(key for key in SCALARS & values.keys() if values[key] is not None):
                self.events.add_scalar(f"{place}/{key}", values[key], values["step"])

    def scalar(self, name: str, value: float, step: int) -> None:
        """Add a number that is in no table, since it differs from run to run, to the events."""
        if self.events:
            self.events.add_scalar(name, value, step)

    def copy_to(self, folder: Path) -> None:
        for name in self._handles:
            (folder / name).write_bytes((self.folder / name).read_bytes())

    def close(self) -> None:
        for handle in self._handles.values():
            handle.close()
        if self.events:
            self.events.close()
