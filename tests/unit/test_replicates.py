"""Seeds: the runs that they stand for, what of a run its seed moves, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_group import of_key, one_group
from planned_jobs import packed_for, start_of, training_of
from refusals import problems

from revocab.experiment import as_json, options, validate
from revocab.experiment.layout import Layout
from revocab.experiment.schema import Experiment


def planned(methods: dict[str, Any], **group: Any) -> Layout:
    return Layout(validate(one_group(methods, **group)))


# What they stand for ------------------------------------------------------------------------------


def test_a_run_for_each_seed():
    runs = planned({"sava": {"for": {"seed": [1, 2]}, "anchors": 20}, "fvt": {}}).runs
    assert [*runs] == ["g-base", "g-sava-seed1", "g-sava-seed2", "g-fvt"]
    facts = {run.id: (run.method, run.seed, run.replicate_of) for run in runs.values()}
    assert facts["g-sava-seed2"] == ("sava", 2, "g-sava")
    assert facts["g-fvt"] == ("fvt", 17, None)
    assert runs["g-sava-seed1"].options == {"anchors": 20}


def test_a_group_gives_its_runs_seeds():
    runs = planned(
        {"sava": {}, "fvt": {"for": None}, "clp": {"for": {"seed": [7]}}, "lapt": {}},
        **{"for": {"seed": [1, 2]}},
    ).runs
    assert [*runs][1:] == [
        "g-sava-seed1", "g-sava-seed2", "g-fvt", "g-clp-seed7", "g-lapt-seed1", "g-lapt-seed2",
    ]  # fmt: skip
    assert runs["g-base"].replicate_of is None


def test_the_same_runs_by_hand_have_the_same_jobs():
    ours = planned({"sava": {"for": {"seed": [1, 2]}}})
    entry = {"method": "sava", "replicate_of": "sava"}
    theirs = planned({f"sava-seed{n}": {**entry, "seed": n} for n in (1, 2)})
    assert ours.runs == theirs.runs
    for run in ("g-sava-seed1", "g-sava-seed2"):
        assert start_of(ours, run) == start_of(theirs, run)
        assert training_of(ours, run) == training_of(theirs, run)


def test_runs_that_begin_from_others_have_those_of_their_seed():
    runs = planned(
        {
            "sava": {},
            "more": {"method": "lapt", "start": {"run": "g-sava"}},
            "once": {"method": "lapt", "start": {"run": "g-sava-seed2"}, "for": None},
        },
        **{"for": {"seed": [1, 2]}},
    ).runs
    assert runs["g-more-seed1"].start == ("g-sava-seed1", 20)
    assert runs["g-more-seed2"].start == ("g-sava-seed2", 20)
    assert runs["g-once"].start == ("g-sava-seed2", 20)


def test_seeds_of_a_sweep():
    axes = {"n": of_key("anchors", [10, 20])}
    runs = planned({"sava": {"for": {**axes, "seed": [1, 2]}}}).runs
    assert [*runs][1:] == [
        "g-sava-10-seed1", "g-sava-10-seed2", "g-sava-20-seed1", "g-sava-20-seed2",
    ]  # fmt: skip
    assert runs["g-sava-20-seed1"].replicate_of == "g-sava-20"
    assert runs["g-sava-20-seed1"].axes == {"n": "20"}


def test_replicates_are_read_back_from_the_record():
    found = validate(one_group({"sava": {"for": {"seed": [1, 2]}}, "fvt": {"for": None}}))
    assert Experiment.model_validate(as_json(found)["experiment"]) == found


# What a seed moves --------------------------------------------------------------------------------


def test_a_seed_moves_the_new_rows_and_the_training_and_not_the_packing():
    """Which the experiment's own seed moves, with the runs that have no other."""
    values = one_group({"random": {"for": {"seed": [1, 2]}}, "fvt": {}})
    runs = ("g-random-seed1", "g-random-seed2")
    for seed in (17, 18):
        layout = Layout(validate({**values, "seed": seed}))
        for of_run in (start_of, training_of):
            (first, _), (second, _) = (of_run(layout, run) for run in runs)
            assert (first.seed, second.seed) == (1, 2)
            assert first.model_copy(update={"seed": 2}) == second
        packed = {packed_for(layout, run) for run in (*runs, "g-fvt")}
        assert packed == {"target--bilingual--train"}
        assert options.packing(layout, "bilingual", "train").seed == seed
        assert options.run_training(layout.experiment, "g-fvt").seed == seed


@settings(max_examples=20)
@given(st.lists(st.integers(0, 999), min_size=1, max_size=5, unique=True), st.randoms())
def test_ids_are_unique_and_stable(seeds, random):
    layout = planned({"random": {"for": {"seed": seeds}}})
    turned = [*seeds]
    random.shuffle(turned)
    other = planned({"random": {"for": {"seed": turned}}})
    assert {*layout.runs} == {*other.runs} == {"g-base", *(f"g-random-seed{n}" for n in seeds)}
    for run in layout.trained:
        assert training_of(layout, run) == training_of(other, run)


# What is refused ----------------------------------------------------------------------------------

REPLICATE = {"method": "sava", "replicate_of": "same"}
WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "twice": ({"sava": {"for": {"seed": [1, 1]}}}, {}, "runs.g.methods.sava.for.seed: a seed is"),
    "none": ({"sava": {"for": {"seed": []}}}, {}, "runs.g.methods.sava.for.seed:"),
    "negative": ({"sava": {"for": {"seed": [-1]}}}, {}, "runs.g.methods.sava.for.seed.0:"),
    "of a group": ({"sava": {}}, {"for": {"seed": "all"}}, "runs.g.for.seed:"),
    "seed and seeds": (
        {"sava": {"seed": 3}}, {"for": {"seed": [1, 2]}},
        "runs.g.for.seed: run 'sava' sets one, too",
    ),
    "a name that is taken": (
        {"sava": {"for": {"seed": [1]}}, "sava-seed1": {"method": "fvt"}}, {},
        "runs.g.methods.sava-seed1: two would be called 'sava-seed1'",
    ),
    "replicates that differ": (
        {"a": {**REPLICATE, "seed": 1}, "b": {**REPLICATE, "seed": 2, "anchors": 9}}, {},
        "runs.g.methods.b.replicate_of: 'b' differs from 'a' in more than its seed",
    ),
    "replicates of one seed": (
        {"a": {**REPLICATE, "seed": 1}, "b": {**REPLICATE, "seed": 1}}, {},
        "runs.g.methods.b.replicate_of: 'a' already has the seed 1; give another",
    ),
    "a replicate of a run": (
        {"same": {"method": "sava"}, "b": {**REPLICATE, "seed": 1}}, {},
        "runs.g.methods.b.replicate_of: 'same' is a run of the group itself",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_bad_combination_is_one_clear_line(case):
    methods, group, said = WRONG[case]
    (line,) = problems(one_group(methods, **group))
    assert line.startswith(said), line


def test_what_is_wrong_with_all_seeds_is_told_once_by_the_name_in_the_file():
    bad = {"target": "nope", "start": {"run": "g-sava", "step": 7}, "bogus": 1}
    found = problems(
        one_group({"sava": {}, "more": {"method": "lapt", **bad}}, **{"for": {"seed": [1, 2, 3]}})
    )
    keys = [line.partition(": ")[0].removeprefix("runs.g.methods.more.") for line in found]
    assert keys == ["bogus", "target", "target", "start.step"] and len(found) == len({*found})
    assert not any("-seed" in line for line in found)
