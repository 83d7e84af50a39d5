"""Figures: every one drawn, repeatable byte for byte, one colour per method."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fake_results import copy_of_demo, finished_demo
from hypothesis import given
from hypothesis import strategies as st

from revocab.initialise.method import methods
from revocab.io import read_json, write_json
from revocab.report.drawing import Palette, darker, own_colours
from revocab.report.figures.curves import AverageScoreFigure, smooth
from revocab.report.figures.grids import shares
from revocab.report.figures.tokenizers import span
from revocab.report.make_tables import make_figures
from revocab.report.results import Results
from revocab.report.runs import headed
from revocab.report.values import Average


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = copy_of_demo(tmp_path_factory.mktemp("figures"))
    make_figures(root, root / "figures")
    return root


def test_every_figure_in_both_endings(folder):
    names = sorted(path.name for path in (folder / "figures").glob("[!.]*"))
    wanted = [*(f"figure{n:02d}" for n in range(1, 11)), "heldout", "token_counts"]
    assert names == [f"{name}.{ending}" for name in wanted for ending in ("png", "svg")]
    for name, options in Results(folder).experiment.figures.items():
        content = (folder / f"figures/{name}.svg").read_text(encoding="utf-8")
        assert f"<title>{headed(name, options.title)}" in content and "dc:date" not in content


def test_same_bytes_again(folder, tmp_path):
    results = folder.parent / "again"
    results.mkdir()
    for path in folder.iterdir():
        if path.name != "experiment.json":
            (results / path.name).symlink_to(path)
    content = read_json(folder / "experiment.json")
    figures = content["experiment"]["figures"]
    content["experiment"]["figures"] = {one: figures[one] for one in ("figure02", "figure08")}
    write_json(results / "experiment.json", content)
    make_figures(results, tmp_path)
    for path in sorted(tmp_path.glob("[!.]*")):
        assert path.read_bytes() == (folder / "figures" / path.name).read_bytes()


def test_colours_are_fixed_and_different():
    names = ["random", "sava", "sava-anchors50", "sava-helper1b"]
    palette = Palette(names)
    assert palette.line("sava")["color"] == methods()["sava"].colour
    assert len({palette.line(name)["color"] for name in names}) == 4
    assert Palette([*names, "other"]).line("sava-helper1b") == palette.line("sava-helper1b")
    # Names of no method have the colours of methods that are not there.
    names = ["base", *(f"extend{number}" for number in range(7))]
    colours = [Palette(names).line(name)["color"] for name in names]
    assert len({*colours}) == 8
    assert {*colours[1:]} <= {*own_colours().values()} - {methods()["base"].colour}


def test_a_sweep_is_coloured_by_ratios_where_numbers_differ_by_a_factor_of_two():
    numbers = np.array([[1.0, 2.0], [4.0, math.nan]])
    assert np.array_equal(shares(numbers), [[0, 0.5], [1, math.nan]], equal_nan=True)
    assert shares(np.array([1.0, 1.5, 2.0])).tolist() == [0, 0.5, 1]
    assert shares(np.array([-1.0, 0.0, 3.0])).tolist() == [0, 0.25, 1]
    assert shares(np.array([2.0, 2.0])).tolist() == [0, 0]
    assert darker("#ffffff") == "#cccccc"


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=40))
def test_smoothing_stays_within(values):
    result = smooth(values)
    assert len(result) == len(values)
    assert min(values) - 1e-9 <= min(result)
    assert max(result) <= max(values) + 1e-9


def test_smoothing_keeps_a_level_and_does_not_lag():
    assert smooth([2.0] * 30) == pytest.approx([2.0] * 30)
    line = [float(i) for i in range(200)]
    assert smooth(line)[50:150] == pytest.approx(line[50:150])


def test_span_leaves_out_half_a_per_cent():
    values = {"a": [1.0 + i / 1000 for i in range(1000)] + [50.0]}
    low, high = span(values)
    assert 0.9 < low < 1.01
    assert high < 2.2


def test_the_average_of_named_tasks_is_drawn_at_the_checkpoints_where_all_are_scored():
    """Tasks of both kinds, in the unit of the tables."""
    results = Results(finished_demo())
    tasks = results.experiment.evaluation
    named = [next(iter(tasks.multiple_choice.tasks)), next(iter(tasks.generation.tasks))]
    given = {"kind": "average_score", "title": "T", "group": "mistral", "named": named}
    options = AverageScoreFigure.model_validate(given)
    axes = options.draw(results, Palette(["sava"])).axes[0]
    run = next(run for run in results.group("mistral") if run.name == "sava")
    assert options.steps(results, run) == run.select(tasks.generation.steps)
    value = Average(named=named).cell(results, run).value
    drawn = [line.get_ydata()[-1] for line in axes.get_lines() if len(line.get_ydata())]
    assert any(height == pytest.approx(value) for height in drawn)
    assert {task for _, task in options.scores(results.experiment)} == set(named)
    with pytest.raises(ValueError, match="language"):
        AverageScoreFigure.model_validate({**given, "language": "it"})
