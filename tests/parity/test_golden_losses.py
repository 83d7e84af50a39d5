"""Every recipe's loss curve at pico size equals the one kept; numerics change on purpose only."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from training_pico import table

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))
from make_loss_curves import make, recipe_names  # noqa: E402


@pytest.mark.parametrize("name", recipe_names())
def test_the_curve_is_the_golden_one(name, inputs, tmp_path):
    """Across machines sums differ in the last bits: 1e-4 of loss in 24 steps allows for that."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    ours = table(make(name, inputs, tmp_path / "out"))
    torch.set_num_threads(threads)
    golden = table(GOLDEN / f"losses-{name}.csv")
    assert len(ours) == len(golden) == 24
    for mine, kept in zip(ours, golden, strict=True):
        assert mine["step"] == kept["step"] and mine["tokens"] == kept["tokens"]
        assert float(mine["loss"]) == pytest.approx(float(kept["loss"]), abs=1e-4), mine["step"]
        assert float(mine["learning_rate"]) == pytest.approx(float(kept["learning_rate"]))


def test_the_recipes_differ(tmp_path):
    curves = {name: (GOLDEN / f"losses-{name}.csv").read_text() for name in recipe_names()}
    assert len(set(curves.values())) == len(curves) >= 5
