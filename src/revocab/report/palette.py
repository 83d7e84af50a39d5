"""Colours and dashes of runs: those of their methods, the same in every figure of an experiment.

Colours are Okabe and Ito's and Tol's, which readers with colour-blindness can tell apart; dashes
and direct labels say the same once more.
"""

from __future__ import annotations

from typing import Any

from revocab.initialise.method import methods

#: For names that have no colour of their own, in the order of the experiment's runs.
SPARE_COLOURS = ("#882255", "#999933", "#332288", "#44AA99", "#AA4499", "#117733", "#DDAA33")


def own_colours() -> dict[str, str]:
    """Return the colours that methods give to runs of their name, and to variants of it."""
    found = {}
    for name, method in methods().items():
        if method.colour:
            found[name] = method.colour
        found |= {f"{name}-{variant}": one for variant, one in method.variant_colours.items()}
    return found


class Palette:
    """Colours of run names: the same name has the same colour in every figure of an experiment."""

    def __init__(self, names: list[str]):
        own = own_colours()
        others = [name for name in dict.fromkeys(names) if name not in own]
        more = {name: SPARE_COLOURS[i % len(SPARE_COLOURS)] for i, name in enumerate(others)}
        self._colours = {**own, **more}

    def line(self, name: str) -> dict[str, Any]:
        """Return the keywords that draw a run's line."""
        method = methods().get(name)
        dash = method.dash if method else None
        return {"color": self._colours[name], "linestyle": dash or "solid"}
