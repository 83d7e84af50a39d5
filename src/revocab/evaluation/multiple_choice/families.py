"""Families of multiple-choice tasks: how readers know them, and the metric that stands for each."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field

from revocab.closed import Closed, OneLine, checked
from revocab.evaluation.metrics import HARNESS_METRICS
from revocab.limits import COUNTED

FILE = Path(__file__).parent / "families.yaml"
#: The metric of a family that names none, or is not in the file.
DEFAULT_METRIC = "acc"


class Family(Closed):
    """One line of ``families.yaml``, which says what the keys mean."""

    label: OneLine
    metric: OneLine | None = None
    choices: Annotated[int, Field(ge=2), COUNTED] | None = None


@cache
def families() -> dict[str, Family]:
    """Return every family by id, in the order of a table's columns.

    Raises :class:`RevocabError` naming the line of ``families.yaml`` that is wrong.
    """
    values = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return {name: checked(Family, line, f"{FILE}: {name}") for name, line in values.items()}


def family_label(family: str) -> str:
    """Return a family as a column header: its own id where the file does not name it."""
    known = families().get(family)
    return known.label if known else family


def family_chance(family: str) -> float | None:
    """Return the accuracy of blind guessing, None where items differ too much to say."""
    known = families().get(family)
    return 1 / known.choices if known and known.choices else None


def choice_metrics(family: str) -> tuple[str, ...]:
    """Return the metrics that may stand for a family, the best first.

    Some tasks report no accuracy, such as the rate of stereotypes. The first of these metrics that
    a task does report stands for it, so that no average lacks it.
    """
    known = families().get(family)
    first = known.metric if known and known.metric else DEFAULT_METRIC
    return tuple(dict.fromkeys([first, DEFAULT_METRIC, *(each.name for each in HARNESS_METRICS)]))
