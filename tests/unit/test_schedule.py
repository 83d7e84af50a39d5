"""Learning-rate schedules against their closed formulas."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revocab.training.schedule import learning_rate_factor


def cosine(step, steps=100, warmup=10, share=0.1):
    return learning_rate_factor(
        step, schedule="cosine", steps=steps, warmup_steps=warmup, final_share=share
    )


def test_warmup_is_linear_from_zero():
    assert [cosine(step) for step in (0, 1, 5, 9)] == [0.0, 0.1, 0.5, 0.9]


def test_cosine_at_its_landmarks():
    assert cosine(10) == 1.0
    assert cosine(55) == pytest.approx(0.55)  # half way: the mean of 1 and the share
    assert cosine(100) == pytest.approx(0.1)
    assert cosine(99) == pytest.approx(0.1 + 0.9 * (1 + math.cos(math.pi * 89 / 90)) / 2)


def test_published_recipe():
    """SAVA's release for Mistral: 2000 steps, warm-up 20, to a tenth."""
    assert cosine(1010, steps=2000, warmup=20) == pytest.approx(0.55)


def test_constant_stays_after_warmup():
    factors = [
        learning_rate_factor(s, schedule="constant", steps=5, warmup_steps=2, final_share=0.1)
        for s in range(6)
    ]
    assert factors == [0.0, 0.5, 1.0, 1.0, 1.0, 1.0]


def test_linear_falls_by_equal_steps():
    factors = [
        learning_rate_factor(s, schedule="linear", steps=6, warmup_steps=2, final_share=0.2)
        for s in range(8)
    ]
    assert factors == pytest.approx([0.0, 0.5, 1.0, 0.8, 0.6, 0.4, 0.2, 0.2])


def inverse_sqrt(step, warmup):
    return learning_rate_factor(
        step, schedule="inverse_sqrt", steps=100, warmup_steps=warmup, final_share=0.1
    )


def test_inverse_square_root_by_hand():
    """The peak ends the warm-up, half of it is four times as far, and there is no floor."""
    factors = [inverse_sqrt(step, 4) for step in (0, 2, 4, 16, 36, 400)]
    assert factors == pytest.approx([0.0, 0.5, 1.0, 1 / 2, 1 / 3, 1 / 10])


@pytest.mark.parametrize("warmup", [0, 1, 5])
def test_inverse_square_root_is_that_of_transformers(warmup):
    import torch
    from transformers import get_inverse_sqrt_schedule

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = get_inverse_sqrt_schedule(optimizer, num_warmup_steps=warmup)
    theirs = []
    for _ in range(40):
        theirs.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    assert [inverse_sqrt(step, warmup) for step in range(40)] == pytest.approx(theirs, rel=1e-12)


def test_no_warmup_starts_at_the_peak():
    assert cosine(0, warmup=0) == 1.0


def test_warmup_of_the_whole_run():
    assert cosine(100, steps=100, warmup=100) == 1.0


@given(st.integers(1, 300), st.integers(0, 300), st.floats(0, 1))
def test_within_bounds_and_falling_after_warmup(steps, warmup, share):
    warmup = min(warmup, steps)
    factors = [cosine(step, steps, warmup, share) for step in range(steps + 1)]
    assert all(0 <= factor <= 1 + 1e-12 for factor in factors)
    after = factors[warmup:]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(after))
