"""Each rule of an advice at the number where it changes its mind."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from revocab.product.advice.findings import Facts, Option, about, fastest, interval, published

EXTEND = Option("extend", 8000, 40_000, saved_tokens=0.35, saved_time=0.39, pays=1e9)
OPTIMISE = Option("optimise", 8000, 24_000, saved_tokens=0.35, saved_time=0.40, pays=1e9)
GOOD = Facts(
    bytes=10**8, tokens=3e7, over_floor=1.7, over_repaired=1.7, options=(EXTEND, OPTIMISE),
    planned=1e8, passes=4.0, served=1e9,
)  # fmt: skip


def test_nothing_is_dropped_where_training_is_shorter_than_any_that_was_published():
    faster = replace(OPTIMISE, saved_time=0.6)
    least = min(figure.low for figure in about("optimise"))
    assert fastest([EXTEND, faster]) == fastest([EXTEND, faster], least) == faster
    assert fastest([EXTEND, faster], least - 1) == EXTEND


def with_option(**changes: float) -> Facts:
    return replace(GOOD, options=(replace(EXTEND, **changes),))


@pytest.mark.parametrize(
    ("facts", "rules"),
    [
        (GOOD, []),
        (replace(GOOD, bytes=4_999_999), ["least-text"]),
        (replace(GOOD, bytes=5_000_000), []),
        (replace(GOOD, over_floor=1.15), ["floor"]),
        (replace(GOOD, over_floor=1.16), []),
        (with_option(saved_time=0.0999), ["little"]),
        (with_option(saved_time=0.1), []),
        (with_option(pays=24e9 + 1), ["months"]),
        (with_option(pays=24e9), []),
        (with_option(pays=inf), ["months"]),
        (replace(with_option(pays=inf), served=None), []),
        (replace(with_option(saved_time=0.01), bytes=1_000_000), ["least-text", "little"]),
    ],
)
def test_a_rule_speaks_against_from_its_number_on(facts, rules):
    assert facts.speak_against == rules


def test_extend_is_taken_unless_it_is_clearly_slower():
    assert fastest((OPTIMISE, EXTEND)) == EXTEND
    much = replace(OPTIMISE, saved_time=0.5)
    assert fastest((EXTEND, much)) == much


def test_published_curves_are_an_interval_with_an_end_or_without():
    assert interval(about("extend")) == (2e9, 1e12, True)
    low, high, open_ended = interval(about("optimise"))
    assert low == min(figure.low for figure in about("optimise")) and high >= low and open_ended
    figures = [*published().recovered.values(), *published().says.values()]
    assert all(figure.source and figure.grade for figure in figures)
