"""Sweeps: the runs that they stand for, what those share, and every bad value as one line."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_group import experiment, of_key, rates
from planned_jobs import packed_for, start_of, training_of
from refusals import problems

from revocab.experiment import as_json, validate
from revocab.experiment.layout import Layout
from revocab.experiment.schema import Experiment
from revocab.experiment.written_out import held_steps

RATES = {"quarter": 7.5e-5, "half": 1.5e-4, "full": 3.0e-4}
MIXES = {"one-nine": "m9", "one-three": "m3", "even": "even"}


HOLD = {"world-it": 14_000_000_000}
GOSAL = {
    "rate": rates(RATES), "mix": {name: {"mixture": mixture} for name, mixture in MIXES.items()}
}  # fmt: skip
HELD = {**GOSAL, "hold": HOLD}


def planned(values: dict[str, Any]) -> Layout:
    return Layout(validate(copy.deepcopy(values)))


def swept(layout: Layout) -> list[str]:
    return [run for run in layout.runs if run.startswith("g-sava")]


# What they stand for ------------------------------------------------------------------------------


def test_gosals_nine_runs():
    """14 B Arabic tokens over the share over 960 x 4096 tokens a step, rounded up."""
    layout = planned(experiment(HELD))
    steps = {"one-nine": 3956, "one-three": 4748, "even": 7121}
    assert {run: layout.runs[run].steps[-1] for run in swept(layout)} == {
        f"g-sava-{rate}-{mix}": steps[mix] for rate in RATES for mix in MIXES
    }
    recipes = layout.experiment.recipes
    rates = {run: recipes[layout.runs[run].recipe].learning_rate for run in swept(layout)}
    assert rates == {f"g-sava-{rate}-{mix}": RATES[rate] for rate in RATES for mix in MIXES}
    assert layout.runs["g-sava-half-even"].axes == {"rate": "half", "mix": "even"}
    packed = {packed_for(layout, run) for run in swept(layout)}
    assert packed == {f"target--{mix}--gosal-{mix}" for mix in ("m9", "m3", "even")}


def test_steps_are_exact_where_a_share_is_a_decimal_fraction():
    assert held_steps(90, 0.9, 10) == 10  # 90 / 0.9 is 100 and not a rounding error more
    assert held_steps(91, 0.9, 10) == 11


def by_hand() -> dict[str, Any]:
    """Gosal's nine runs as ordinary runs, with recipes of other names."""
    values = experiment()
    base = values["recipes"]["gosal"]
    steps = {"m9": 3956, "m3": 4748, "even": 7121}
    methods = {}
    for (rate, value), (mix, mixture) in itertools.product(RATES.items(), MIXES.items()):
        recipe = {**base, "steps": steps[mixture], "learning_rate": value}
        del recipe["tokens"]
        values["recipes"][f"by-hand-{rate}-{mix}"] = recipe
        methods[f"sava-{rate}-{mix}"] = {
            "method": "sava", "evaluate": False, "mixture": mixture,
            "recipe": f"by-hand-{rate}-{mix}",
        }  # fmt: skip
    values["runs"]["g"]["methods"] = methods
    return values


def test_the_same_runs_by_hand_have_the_same_jobs():
    ours, theirs = planned(experiment(HELD)), planned(by_hand())
    assert swept(ours) == swept(theirs)
    for run in swept(ours):
        assert start_of(ours, run) == start_of(theirs, run)
        assert training_of(ours, run)[0] == training_of(theirs, run)[0]
    packings = {packed_for(theirs, run) for run in swept(theirs)}
    assert len(packings) == 3  # under names of its own recipes


def test_a_sweep_of_a_group_is_of_each_of_its_runs():
    values = experiment()
    group = values["runs"]["g"]
    group["for"] = {"mix": of_key("mixture", ["m9", "m3"])}
    group["methods"]["fvt"] = {"evaluate": False}
    group["methods"]["lapt"] = {"evaluate": False, "for": None}
    group["methods"]["mean"] = {"for": {"to": of_key("target", ["target"])}, "evaluate": False}
    runs = planned(values).runs
    assert [*runs] == [
        "g-base", "g-sava-m9", "g-sava-m3", "g-fvt-m9", "g-fvt-m3", "g-lapt", "g-mean-target",
    ]  # fmt: skip
    assert runs["g-fvt-m3"].method == "fvt" and runs["g-lapt"].axes == {}


def test_options_of_a_method_and_whole_numbers_as_names():
    layout = planned(experiment({"n": of_key("anchors", [100, 200])}, recipe=None))
    assert swept(layout) == ["g-sava-100", "g-sava-200"]
    assert layout.runs["g-sava-200"].options == {"anchors": 200}


def test_rates_alone_are_trained_on_the_rows_of_their_recipe():
    layout = planned(experiment({"rate": rates(RATES)}))
    assert {packed_for(layout, run) for run in swept(layout)} == {"target--bilingual--gosal"}


def test_an_option_of_one_stage():
    two = {name: {"recipe": {"stages": {"two": {"learning_rate": RATES[name]}}}} for name in RATES}
    values = experiment({"rate": two}, recipe="staged")
    stages = planned(values).experiment.recipes["staged-full"].stages
    assert [one.learning_rate for one in stages] == [1e-4, 3e-4]


def test_rows_of_another_length_are_others():
    lengths = {"short": 1024, "long": 4096}
    length = {name: {"recipe": {"sequence_length": lengths[name]}} for name in lengths}
    layout = planned(experiment({"length": length, "rate": rates(RATES)}))
    packed = {run: packed_for(layout, run) for run in swept(layout)}
    assert packed["g-sava-short-full"] == "target--bilingual--gosal-short"
    assert packed["g-sava-long-half"] == "target--bilingual--gosal"
    assert len(set(packed.values())) == 2


def test_runs_of_a_sweep_are_read_back_from_the_record():
    found = validate(experiment(HELD))
    assert Experiment.model_validate(as_json(found)["experiment"]) == found


# Equal rows are packed once -----------------------------------------------------------------------


def test_equal_rows_are_packed_once_whatever_names_them():
    values = experiment()
    recipes, group = values["recipes"], values["runs"]["g"]
    recipes["slower"] = {**recipes["gosal"], "learning_rate": 1e-6}
    recipes["longer"] = {**recipes["gosal"], "tokens": 30_000_000_000}
    group["methods"] |= {
        "slow": {"method": "fvt", "recipe": "slower", "mixture": "even", "evaluate": False},
        "long": {"method": "fvt", "recipe": "longer", "evaluate": False},
        "own": {"method": "lapt", "evaluate": False},
    }
    layout = planned(values)
    packed = {name: packed_for(layout, f"g-{name}") for name in group["methods"]}
    assert packed["sava"] == packed["slow"] == "target--bilingual--gosal"
    assert packed["long"] == "target--bilingual--longer"
    assert packed["own"] == "source--bilingual--gosal"


# Properties ---------------------------------------------------------------------------------------

NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9]{0,3}", fullmatch=True), min_size=1, unique=True)


@settings(max_examples=20)
@given(names=NAMES, mixes=NAMES)
def test_ids_are_unique_and_stable(names, mixes):
    """Whatever other values there are, a run has the same id, job and rows."""
    names, mixes = names[:3], mixes[:3]
    rate = {name: 1e-5 * len(name) for name in names}
    mix = {name: ("m9", "m3", "even")[len(name) % 3] for name in mixes}

    def layout_with(rate: dict, mix: dict) -> Layout:
        mixes = {name: {"mixture": mixture} for name, mixture in mix.items()}
        return planned(experiment({"rate": rates(rate), "mix": mixes, "hold": HOLD}))

    layout = layout_with(rate, mix)
    assert len({*swept(layout)}) == len(names) * len(mixes)
    turned = layout_with(dict(reversed(rate.items())), mix)
    alone = layout_with({names[-1]: rate[names[-1]]}, mix)
    for other in (turned, alone):
        for run in swept(other):
            assert training_of(layout, run) == training_of(other, run)


@settings(max_examples=20)
@given(st.sampled_from([*RATES]), st.floats(1e-6, 1e-2))
def test_one_value_moves_only_the_runs_that_have_it(rate, value):
    before = planned(experiment(HELD))
    after = planned(experiment({**HELD, "rate": rates({**RATES, rate: value})}))
    moved = {run for run in swept(before) if training_of(before, run) != training_of(after, run)}
    assert moved == ({f"g-sava-{rate}-{mix}" for mix in MIXES} if value != RATES[rate] else set())


@given(st.integers(1, 10**12), st.decimals("0.001", "1", places=3), st.integers(1, 10**7))
def test_held_tokens_are_given_and_one_step_less_is_too_few(tokens, share, per_step):
    steps = held_steps(tokens, float(share), per_step)
    assert (steps - 1) * per_step * share < tokens <= steps * per_step * share


# What is refused ----------------------------------------------------------------------------------

SAVA = "runs.g.methods.sava"
WRONG = {
    "no such key": ({"n": {"a": {"anchor": 3}}}, {}, f"{SAVA}.for.n.a.anchor:"),
    "a wrong value": ({"n": of_key("anchors", [0])}, {}, f"{SAVA}.for.n.0.anchors:"),
    "no such option of a recipe": (
        {"n": {"a": {"recipe": {"learning_rat": 1}}}}, {}, f"{SAVA}.for.n.a.recipe.learning_rat:"
    ),
    "no such stage": (
        {"n": {"a": {"recipe": {"stages": {"three": {"learning_rate": 1e-4}}}}}},
        {"recipe": "staged"}, f"{SAVA}.for.n.a.recipe.stages: no stage 'three'",
    ),
    "no such mixture": ({"mix": of_key("mixture", ["m99"])}, {}, f"{SAVA}-m99.mixture:"),
    "set by the run, too": (
        {"n": of_key("anchors", [10])}, {"anchors": 20}, f"{SAVA}.for.n.10.anchors:"
    ),
    "set by two axes": (
        {"n": of_key("anchors", [10]), "m": of_key("anchors", [20])}, {},
        f"{SAVA}.for.m.20.anchors:",
    ),
    "no recipe": ({"rate": rates({"low": 1e-5})}, {"recipe": None}, f"{SAVA}.for:"),
    "an axis without values": ({"n": {}}, {}, f"{SAVA}.for.n:"),
    "no axis": ({}, {}, f"{SAVA}.for:"),
    "holds another corpus": (
        {"mix": of_key("mixture", ["m9"]), "hold": {"world-fr": 9}}, {},
        f"{SAVA}.for.hold.world-fr:",
    ),
    "a name that is no id": ({"n": {"A": {"anchors": 20}}}, {}, f"{SAVA}.for.n.A"),
    "runs of one name": (
        {"a": {"m": {"mixture": "m9"}, "m-x": {"mixture": "m3"}},
         "b": {"x-y": {"anchors": 5}, "y": {"anchors": 6}}}, {},
        f"{SAVA}: two would be called 'sava-m-x-y'",
    ),
    "no such method": ({"by": of_key("method", ["sav"])}, {}, f"{SAVA}.for.by.sav"),
    "an option that another method has": (
        {"by": of_key("method", ["mean"])}, {"anchors": 9}, "runs.g.methods.sava.anchors:"
    ),
    "hold and steps": (
        {"n": {"a": {"recipe": {"steps": 9000}}}, "hold": {"world-it": 10**10}}, {},
        f"{SAVA}.for.n.a.recipe: 'hold' decides the steps",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_bad_value_is_one_clear_line(case):
    sweep, run, place = WRONG[case]
    found = problems(experiment(sweep, **run))
    assert len(found) == 1 and found[0].startswith(place), found


def test_stages_with_tokens_keep_their_proportions_over_the_steps_that_hold():
    values = experiment({"mix": of_key("mixture", ["m9"]), "hold": HOLD})
    stages = [{"name": "one", "tokens": 3 * 10**9}, {"name": "two", "tokens": 10**9}]
    values["recipes"]["gosal"]["stages"] = stages
    del values["recipes"]["gosal"]["tokens"]
    first, second = validate(values).recipes["gosal-m9"].stages
    assert (first.steps + second.steps, first.steps) == (3956, 2967)


def test_stages_with_steps_of_their_own_hold_nothing():
    values = experiment({"mix": of_key("mixture", ["m9"]), "hold": {"world-it": 10**6}})
    values["recipes"]["gosal"] = values["recipes"]["staged"] | {
        "stages": [{"name": "one", "steps": 4}, {"name": "two", "steps": 6}]
    }
    assert any(
        line.startswith(f"{SAVA}.for.hold.world-it: stages: 10 steps") for line in problems(values)
    )


def test_a_run_or_recipe_has_no_name_of_another():
    values = experiment({"rate": rates({"low": 1e-5})})
    values["runs"]["g"]["methods"]["sava-low"] = {"method": "fvt", "evaluate": False}
    values["recipes"]["gosal-low"] = values["recipes"]["gosal"]
    names = [line.partition("called ")[2].partition(";")[0] for line in problems(values)]
    assert names == ["'gosal-low'", "'sava-low'"]


@pytest.mark.parametrize("shape", [[], "all", {"g": []}, {"g": {"methods": [1]}}])
def test_what_is_no_group_is_left_for_the_schema(shape):
    assert problems({**experiment(), "runs": shape})
