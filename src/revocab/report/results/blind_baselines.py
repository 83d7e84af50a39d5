"""Blind baselines on items that are made here: their accuracies must be near chance.

``baselines.json`` of the world holds for every task ``items``, ``chance`` and the accuracy of each
baseline, which sees only the lengths or positions of the choices; that of a probe, its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from revocab.evaluation.multiple_choice.blind import BASELINES
from revocab.io import read_json
from revocab.report.annotations import Experiment

#: A baseline may be above chance by this, or by three standard errors of so few items.
TOLERANCE = 0.06
NOT_BASELINES = ("items", "chance")


def baselines(
    experiment: Experiment, resources: Path
) -> Iterator[tuple[Path, str, dict[str, float]]]:
    """Yield file, task and accuracies by baseline of the items that are made here.

    Files below ``resources`` that are not there are left out.
    """
    world = resources / "world" / BASELINES
    if world.is_file():
        yield from ((world, task, row) for task, row in read_json(world).items())
    for name, task in experiment.evaluation.multiple_choice.tasks.items():
        own = resources / "probes" / name / BASELINES
        if task.probe and own.is_file():
            yield own, name, read_json(own)


def problems(experiment: Experiment, resources: Path) -> list[str]:
    lines = []
    for path, task, row in baselines(experiment, resources):
        chance, items = row["chance"], row["items"]
        allowed = chance + max(TOLERANCE, 3 * math.sqrt(chance * (1 - chance) / items))
        lines += [
            f"{path}: {task}: blind baseline {name} reaches {accuracy:.3f}, chance is {chance:.2f} "
            f"(allowed: {allowed:.2f}); answers can be read off; fix the generator"
            for name, accuracy in row.items()
            if name not in NOT_BASELINES and accuracy > allowed
        ]
    return lines


def table(experiment: Experiment, resources: Path) -> tuple[list[str], list[list[str]]]:
    rows = {task: row for _, task, row in baselines(experiment, resources)}
    names = list(dict.fromkeys(name for row in rows.values() for name in row if name != "items"))
    header = ["Task", "Items", *[name.replace("_", " ").capitalize() for name in names]]
    return header, [
        [task, str(row["items"]), *[f"{100 * row[name]:.1f}" for name in names]]
        for task, row in rows.items()
    ]
