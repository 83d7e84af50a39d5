"""Blind baselines on the demo's items: their accuracies must be near chance.

``baselines.json`` of the world holds for every task ``items``, ``chance`` and the accuracy of each
baseline, which sees only the lengths or positions of the choices.
"""

from __future__ import annotations

import math
from pathlib import Path

from revocab.io import read_json

#: A baseline may be above chance by this, or by three standard errors of so few items.
TOLERANCE = 0.06
NOT_BASELINES = ("items", "chance")


def read_baselines(path: Path) -> dict[str, dict[str, float]]:
    """Return ``baselines.json`` (task to baseline to accuracy); empty if there is no such file."""
    return read_json(path) if path.is_file() else {}


def problems(path: Path) -> list[str]:
    """Return a line for each baseline that is far above chance on its task."""
    found = []
    for task, row in read_baselines(path).items():
        chance, items = row["chance"], row["items"]
        allowed = chance + max(TOLERANCE, 3 * math.sqrt(chance * (1 - chance) / items))
        found += [
            f"{path}: {task}: blind baseline {name} reaches {accuracy:.3f}, chance is {chance:.2f} "
            f"(allowed: {allowed:.2f}); answers can be read off; fix the generator"
            for name, accuracy in row.items()
            if name not in NOT_BASELINES and accuracy > allowed
        ]
    return found


def table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the baselines' accuracies in per cent."""
    rows = read_baselines(path)
    names = list(dict.fromkeys(name for row in rows.values() for name in row if name != "items"))
    header = ["Task", "Items", *[name.replace("_", " ").capitalize() for name in names]]
    return header, [
        [task, str(row["items"]), *[f"{100 * row[name]:.1f}" for name in names]]
        for task, row in rows.items()
    ]
