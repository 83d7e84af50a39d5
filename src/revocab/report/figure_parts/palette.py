"""Colours and dashes of runs: those of their methods, the same in every figure of an experiment.

Methods have Okabe and Ito's colours and Tol's, which readers with colour-blindness can tell apart;
dashes and direct labels say the same once more.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

from revocab.initialise.method import methods

#: For names that have no colour of their own, in the order of the experiment's runs: of a grid over
#: sRGB, those farthest from each other and from the methods' own. Those of methods come before them
#: where the experiment has few of these.
SPARE_COLOURS = ("#0000BB", "#00CC33", "#8877FF", "#882277", "#6600FF", "#440066", "#99CC99")
#: No spare colour is drawn as a solid line, which the methods' own are.
SPARE_DASHES = ((0, (6, 2)), (0, (3, 2)), (0, (6, 2, 1, 2)), (0, (6, 2, 1, 2, 1, 2)))


def own_colours() -> dict[str, str]:
    colours = {}
    for name, method in methods().items():
        if method.colour:
            colours[name] = method.colour
        for variant, colour in method.variant_colours.items():
            colours[f"{name}-{variant}"] = colour
    return colours


class Palette:
    """Colours of run names: the same name has the same colour in every figure of an experiment."""

    def __init__(self, names: list[str]):
        own = own_colours()
        others = [name for name in dict.fromkeys(names) if name not in own]
        free = [colour for name, colour in reversed(own.items()) if name not in names]
        colours = SPARE_COLOURS if len(free) <= len(own) / 2 else (*free, *SPARE_COLOURS)
        # The same look comes again only after all colours with all dashes.
        looks = zip(cycle(SPARE_DASHES), cycle(colours), strict=False)
        self._spare = dict(zip(others, looks, strict=False))
        self._own = own

    def line(self, name: str) -> dict[str, Any]:
        method = methods().get(name)
        dash, colour = self._spare.get(name) or ("solid", self._own[name])
        return {"color": colour, "linestyle": (method and method.dash) or dash}
