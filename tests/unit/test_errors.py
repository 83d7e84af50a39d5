"""The error that a user reads: every problem, and of thousands that are alike the first."""

from __future__ import annotations

import pytest

from revocab.errors import ALIKE, RevocabError


@pytest.mark.parametrize("number", [2, ALIKE])
def test_a_few_problems_are_all_told(number):
    lines = RevocabError(f"runs.r{place}: no recipe" for place in range(number)).render()
    assert lines.splitlines()[0] == f"error: {number} problems"
    assert all(f"  {place + 1}. runs.r{place}: no recipe" in lines for place in range(number))


def test_of_thousands_alike_three_are_told_and_how_many_more():
    alike = [f"runs.r{place}: no recipe" for place in range(3000)]
    lines = RevocabError(["seed: wrong", *alike, "title: wrong"]).render().splitlines()
    assert lines == [
        "error: 3,002 problems",
        "  1. seed: wrong",
        "  2. runs.r0: no recipe",
        "  3. runs.r1: no recipe",
        "  4. runs.r2: no recipe (and 2,997 more like it)",
        "  5. title: wrong",
    ]
