"""Each rule of an advice at the number where it changes its mind."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from revocab.advice.published import about, interval, published
from revocab.advice.recommendation import (
    AGAINST,
    CHOICES,
    Facts,
    Option,
    at_the_floor,
    chat,
    fastest,
    mixture,
    nothing_saved,
    pays_too_late,
    recipe,
    recommend,
    too_little_text,
)

EXTEND = Option("extend", 8000, 40_000, saved_tokens=0.35, saved_time=0.39, pays=1e9)
OPTIMISE = Option("optimise", 8000, 24_000, saved_tokens=0.35, saved_time=0.40, pays=1e9)
GOOD = Facts(
    bytes=10**8, tokens=3e7, over_floor=1.7, over_repaired=1.7, keeps=True,
    options=(EXTEND, OPTIMISE), planned=1e8, passes=4.0, served=1e9, chat=False,
)  # fmt: skip


def test_nothing_is_dropped_where_training_is_shorter_than_any_that_was_published():
    faster = replace(OPTIMISE, saved_time=0.6)
    least = min(figure.low for figure in about("optimise"))
    assert fastest([EXTEND, faster]) == fastest([EXTEND, faster], least) == faster
    assert fastest([EXTEND, faster], least - 1) == EXTEND


def with_option(**changes: float) -> Facts:
    return replace(GOOD, options=(replace(EXTEND, **changes),))


def test_good_facts_are_advised_with_a_reason_for_each_choice():
    advice = recommend(GOOD)
    assert advice.option == EXTEND and not advice.against
    begins = ("extend: ", "8,000 new tokens", "method fvt", "100 M tokens", "75% new text")
    assert [one.startswith(begin) for one, begin in zip(advice.reasons, begins, strict=True)]
    assert advice.headline.startswith(
        "Extend by 8,000 tokens to 40,000: 35% fewer tokens, 39% less"
    )


@pytest.mark.parametrize(
    ("rule", "facts"),
    [
        (too_little_text, replace(GOOD, bytes=4_999_999)),
        (at_the_floor, replace(GOOD, over_floor=1.15)),
        (nothing_saved, with_option(saved_time=0.0999)),
        (pays_too_late, with_option(pays=24e9 + 1)),
        (pays_too_late, with_option(pays=inf)),
    ],
)
def test_a_rule_speaks_against_and_is_why(rule, facts):
    advice = recommend(facts)
    assert advice.against == [rule(facts)] and advice.option is None
    assert advice.headline == f"Don't: {rule(facts)}" and advice.reasons


@pytest.mark.parametrize(
    "facts",
    [
        replace(GOOD, bytes=5_000_000),
        replace(GOOD, over_floor=1.16),
        with_option(saved_time=0.1),
        with_option(pays=24e9),
        replace(with_option(pays=inf), served=None),
    ],
)
def test_beyond_its_number_no_rule_speaks(facts):
    assert not [rule(facts) for rule in AGAINST if rule(facts)]


def test_the_first_reason_against_is_the_headline():
    facts = replace(with_option(saved_time=0.01), bytes=1_000_000)
    assert recommend(facts).headline.startswith("Don't: 1 MB of text")
    assert len(recommend(facts).against) == 2


def test_a_repaired_splitter_is_named_where_it_would_help():
    facts = replace(GOOD, over_floor=1.1, over_repaired=3.0)
    said = at_the_floor(facts) or ""
    assert "a splitter that keeps vowel signs in words would allow 33%" in said
    assert said.endswith("use construction extend with join_marks: true")
    assert "vowel" not in (at_the_floor(replace(facts, over_repaired=1.1)) or "")


def test_extend_is_taken_unless_it_is_clearly_slower():
    assert fastest((OPTIMISE, EXTEND)) == EXTEND
    much = replace(OPTIMISE, saved_time=0.5)
    assert fastest((EXTEND, much)) == much
    assert (
        "and extend 39%" in recommend(replace(GOOD, options=(EXTEND, much), planned=5e9)).reasons[0]
    )


def test_recipe_mixture_and_chat_say_what_is_missing():
    assert "4.0 passes" in recipe(GOOD) and "fewer than 2 G tokens" in recipe(GOOD)
    assert "fewer than" not in recipe(replace(GOOD, planned=2e9))
    assert "more than 4 teach little" in recipe(replace(GOOD, passes=9.0))
    assert "give --keep" in mixture(replace(GOOD, keeps=False))
    assert chat(GOOD) is None and "lep" in (chat(replace(GOOD, chat=True)) or "")
    assert len(CHOICES) == 6


def test_published_curves_are_an_interval_with_an_end_or_without():
    assert interval(about("extend")) == (2e9, 1e12, True)
    low, high, open_ended = interval(about("optimise"))
    assert low == min(one.low for one in about("optimise")) and high >= low and open_ended
    every = [*published().recovered.values(), *published().says.values()]
    assert all(one.source and one.grade in one.told() for one in every)
