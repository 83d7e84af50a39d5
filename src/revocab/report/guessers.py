"""Blind guessers on the demo's items: their accuracies must be near chance."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from revocab.io import read_json
from revocab.report.names import CHANCE_OF_FAMILY

#: A guesser further than this above chance can read answers off length or position. ASSUME 0.12:
#: three standard errors of 150 items with four choices.
TOLERANCE = 0.12


def read_baselines(path: Path) -> list[tuple[str, float]]:
    """Return (name, accuracy) of every guesser in ``baselines.json``; names join the keys."""
    return list(_leaves(read_json(path), ())) if path.is_file() else []


def _leaves(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _leaves(one, (*keys, str(key)))
    elif isinstance(value, float) and not isinstance(value, bool) and keys[-1] != "chance":
        yield ".".join(keys), value


def problems(path: Path) -> list[str]:
    """Return a line for each guesser that is far above its family's chance."""
    found = []
    for name, accuracy in read_baselines(path):
        family = next((one for one in CHANCE_OF_FAMILY if one in name), None)
        guess = CHANCE_OF_FAMILY.get(family or "")
        if guess is not None and accuracy > guess + TOLERANCE:
            found.append(
                f"{path}: guesser {name} reaches {accuracy:.3f}, chance is {guess:.2f} "
                f"(allowed: {guess + TOLERANCE:.2f}); answers can be read off; mend the generator"
            )
    return found
