"""Learning-rate schedules against their closed formulas."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revocab.training.stages import Stage


def factor(step, schedule="cosine", steps=100, warmup=10, share=0.1):
    return Stage(
        name="all", learning_rate=1.0, schedule=schedule, steps=steps, warmup_steps=warmup,
        final_learning_rate_share=share,
    ).factor(step)  # fmt: skip


#: Options, and the factor at steps. Half way of a cosine is the mean of 1 and the share; SAVA's
#: release has 2000 steps and a warm-up of 20 for Mistral. The peak of inverse_sqrt ends the
#: warm-up, half of it is four times as far, and there is no floor.
BY_HAND = {
    "cosine": ({}, {0: 0, 1: 0.1, 5: 0.5, 9: 0.9, 10: 1, 55: 0.55, 100: 0.1,
                    99: 0.1 + 0.9 * (1 + math.cos(math.pi * 89 / 90)) / 2}),
    "SAVA's cosine": ({"steps": 2000, "warmup": 20}, {1010: 0.55}),
    "no warm-up": ({"warmup": 0}, {0: 1}),
    "nothing but warm-up": ({"warmup": 100}, {100: 1}),
    "constant": ({"schedule": "constant", "steps": 5, "warmup": 2},
                 {0: 0, 1: 0.5, 2: 1, 3: 1, 4: 1, 5: 1}),
    "linear": ({"schedule": "linear", "steps": 6, "warmup": 2, "share": 0.2},
               {0: 0, 1: 0.5, 2: 1, 3: 0.8, 4: 0.6, 5: 0.4, 6: 0.2, 7: 0.2}),
    "inverse_sqrt": ({"schedule": "inverse_sqrt", "warmup": 4},
                     {0: 0, 2: 0.5, 4: 1, 16: 1 / 2, 36: 1 / 3, 400: 1 / 10}),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_factors_by_hand(case):
    options, expected = BY_HAND[case]
    assert {step: factor(step, **options) for step in expected} == pytest.approx(expected)


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
    ours = [factor(step, "inverse_sqrt", warmup=warmup) for step in range(40)]
    assert ours == pytest.approx(theirs, rel=1e-12)


@given(st.integers(1, 300), st.integers(0, 300), st.floats(0, 1))
def test_within_bounds_and_falling_after_warmup(steps, warmup, share):
    warmup = min(warmup, steps)
    factors = [factor(step, "cosine", steps, warmup, share) for step in range(steps + 1)]
    assert all(0 <= factor <= 1 + 1e-12 for factor in factors)
    after = factors[warmup:]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(after))
