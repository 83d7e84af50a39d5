"""Blind baselines on items that are made here: their accuracies must be near chance.

``baselines.json`` of the world holds for every task ``items``, ``chance`` and the accuracy of each
baseline, which sees only the lengths or positions of the choices.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from revocab.evaluation.multiple_choice.blind import BASELINES
from revocab.io import read_json

#: A baseline may be above chance by this, or by three standard errors of so few items.
TOLERANCE = 0.06
NOT_BASELINES = ("items", "chance")


def baselines(resources: Path) -> dict[str, dict[str, float]]:
    """Return the accuracies by baseline of each task of the world; none where that is not here."""
    path = resources / "world" / BASELINES
    return read_json(path) if path.is_file() else {}


def problems(resources: Path) -> list[str]:
    lines = []
    path = resources / "world" / BASELINES
    for task, row in baselines(resources).items():
        chance, items = row["chance"], row["items"]
        allowed = chance + max(TOLERANCE, 3 * math.sqrt(chance * (1 - chance) / items))
        lines += [
            f"{path}: {task}: blind baseline {name} reaches {accuracy:.3f}, chance is {chance:.2f} "
            f"(allowed: {allowed:.2f}); answers can be read off; fix the generator"
            for name, accuracy in row.items()
            if name not in NOT_BASELINES and accuracy > allowed
        ]
    return lines


def table(resources: Path) -> tuple[list[str], list[list[Any]]]:
    rows = baselines(resources)
    names = list(dict.fromkeys(name for row in rows.values() for name in row if name != "items"))
    header = ["Task", "Items", *[name.replace("_", " ").capitalize() for name in names]]
    return header, [
        [task, row["items"], *(round(100 * row[name], 1) for name in names)]
        for task, row in rows.items()
    ]
