"""Writing of score tables."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from revocab.io import atomic


def write_table(path: Path, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Write rows as CSV, atomically; None becomes an empty cell, floats keep every digit."""
    with atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
