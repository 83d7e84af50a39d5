"""Colours of runs: how far apart they are, to most readers and to those with colour-blindness.

Distances are Euclidean in Oklab (Ottosson 2020), in hundredths of the distance of black and white;
vision without one kind of cone is simulated in linear sRGB (Machado, Oliveira and Fernandes 2009).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from revocab.initialise.method import methods
from revocab.report.figure_parts.palette import SPARE_COLOURS, SPARE_DASHES, Palette, own_colours
from revocab.report.figures.fertility_by_corpus import COLOURS

VISION = {
    "all cones": np.eye(3),
    "no long cones": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "no medium cones": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def oklab(colour: str, vision: str) -> np.ndarray:
    """Return lightness and two opponents of a hexadecimal sRGB colour, as it is seen."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(VISION[vision] @ linear, 0, 1)
    return 100 * TO_OKLAB @ np.cbrt(TO_CONES @ seen)


def distance(one: str, other: str, vision: str = "all cones") -> float:
    return float(np.linalg.norm(oklab(one, vision) - oklab(other, vision)))


def test_distances_of_known_colours():
    assert distance("#000000", "#FFFFFF") == pytest.approx(100, abs=0.01)
    assert oklab("#FF0000", "all cones") == pytest.approx([62.8, 22.5, 12.6], abs=0.1)
    red, green = "#AA5500", "#6B6B00"
    assert distance(red, green) > 2 * distance(red, green, "no medium cones")


@pytest.mark.parametrize(("vision", "least"), [*zip(VISION, (15, 9.5, 8), strict=True)])
def test_spare_colours_are_apart(vision, least):
    """From each other and from the colours of methods that are drawn as solid lines, as they are;
    those that are dashed are told apart by that, too.
    """
    solid = {
        colour
        for name, colour in own_colours().items()
        if not (name in methods() and methods()[name].dash)
    }
    pairs = {*combinations(SPARE_COLOURS, 2)}
    pairs |= {(spare, own) for spare in SPARE_COLOURS for own in solid}
    found = {pair: distance(*pair, vision) for pair in pairs}
    assert min(found.values()) >= least, min(found, key=found.get)


def test_spare_colours_are_apart_from_every_method():
    for spare in SPARE_COLOURS:
        assert min(distance(spare, own) for own in own_colours().values()) >= 15


def test_corpora_in_a_panel_are_apart():
    assert min(distance(*pair) for pair in combinations(COLOURS, 2)) >= 12


def test_lines_on_white_are_seen():
    for spare in SPARE_COLOURS:
        assert distance(spare, "#FFFFFF") >= 20


def test_no_two_of_many_runs_look_the_same():
    names = [f"run-{i}" for i in range(len(SPARE_COLOURS) * (1 + len(SPARE_DASHES)))]
    palette = Palette(["sava", *names, "lapt"])
    looks = [tuple(palette.line(name).values()) for name in [*own_colours(), *names]]
    assert len({*looks}) == len(looks)
    assert palette.line(names[0]) == {"color": SPARE_COLOURS[0], "linestyle": "solid"}
