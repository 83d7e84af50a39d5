"""Runs that build on runs: what they expand to, and every bad combination as one line."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from planned_jobs import start_of
from snakemake.utils import update_config

from revocab.errors import RevocabError
from revocab.experiment import as_json, expand, validate
from revocab.experiment.expand import Run, selected
from revocab.experiment.layout import Layout
from revocab.experiment.schema import Experiment
from revocab.initialise.method import methods
from revocab.io import read_json, write_json

FILES = ("tests/experiments/small.yaml", "tests/experiments/runs.yaml")


@pytest.fixture
def values(repository, monkeypatch) -> dict:
    """The small experiment with the runs that build on runs."""
    monkeypatch.chdir(repository)
    found = yaml.safe_load(Path(FILES[0]).read_text(encoding="utf-8"))
    update_config(found, yaml.safe_load(Path(FILES[1]).read_text(encoding="utf-8")))
    return found


def layout_of(values: dict) -> Layout:
    return Layout(validate(copy.deepcopy(values)))


def problems_of(values: dict, **changes) -> list[str]:
    """Return the problems of an experiment after changes, dotted keys with ``__``."""
    changed = copy.deepcopy(values)
    for key, value in changes.items():
        *parents, last = key.replace("_of_", "-").split("__")
        place = changed
        for one in parents:
            place = place[one]
        place[last] = value
    with pytest.raises(RevocabError) as caught:
        validate(changed)
    return caught.value.problems


# What they expand to ------------------------------------------------------------------------------


def test_a_run_that_starts_from_another(values):
    runs = layout_of(values).runs
    continued, back = runs["other-continued"], runs["other-back"]
    assert continued.start == ("mistral-staged", 4)
    assert (continued.source_tokenizer, continued.target) == ("target", "target")
    assert (back.source_tokenizer, back.target) == ("target", "source")
    assert back.start == ("mistral-sava", 10) and back.mixture is None


def test_what_a_run_begins_with_is_read_by_its_job(values):
    folder = "results/small/runs/mistral-staged"
    begins = layout_of(values).origin("other-continued")
    assert begins == (f"{folder}/checkpoints/step-000004", f"{folder}/manifest.json")
    values["runs"]["other"]["methods"]["continued"]["start"]["step"] = 0
    begins = layout_of(values).origin("other-continued")
    assert begins == (f"{folder}/init", f"{folder}/init/manifest.json")


def test_a_donor_and_the_model_that_it_goes_back_to(values):
    layout, run = layout_of(values), "other-carried"
    (adapted,) = layout.adapted(run)
    assert adapted.folder == "results/small/runs/mistral-sava/checkpoints/step-000010"
    assert layout.adapted_from(run) == [layout.origin(run)]
    methods = values["runs"]["other"]["methods"]
    methods["carried"]["donor"] = {"run": "other-continued", "step": "embeddings"}
    layout = layout_of(values)
    (adapted,), (base,) = layout.adapted(run), layout.adapted_from(run)
    assert adapted.folder == "results/small/runs/other-continued/checkpoints/step-000004"
    assert base.manifest == "results/small/models/mistral/manifest.json"


def test_being_a_base_model_and_being_trained_are_two_properties(values):
    runs = layout_of(values).runs
    told = {name: (run.base, run.made, run.trains) for name, run in runs.items()}
    assert told["mistral-base"] == (True, False, False)
    assert told["mistral-helper-itself"] == (False, False, False)
    assert told["mistral-fvt"] == (False, True, False)
    assert told["mistral-sava"] == (False, True, True)
    assert runs["mistral-fvt"].steps == [0] and runs["mistral-fvt"].select(["last"]) == [0]


def test_the_end_of_a_stage_is_a_checkpoint(values):
    staged = layout_of(values).runs["mistral-staged"]
    assert staged.steps == [0, 4, 6, 8]
    assert staged.stage_ends == {"embeddings": 4, "everything": 8}
    assert staged.select(["embeddings"]) == [4] and staged.select(["everything"]) == [8]
    assert staged.select([0, "first"]) == [0, 4]


def test_own_target_mixture_and_recipe(values):
    packed = layout_of(values).packed("results/small/runs/mistral-staged")
    assert packed == "results/small/packed/target--italian--two-stages/manifest.json"


def test_a_base_model_is_scored_once(values):
    layout = layout_of(values)
    assert layout.runs["other-base"].scored_id == "mistral-base"
    assert "other-base" not in [run.id for run in layout.evaluated()]
    assert "mistral-base" in [run.id for run in layout.evaluated("other")]
    # What the second group alone shows is scored for the first's.
    del values["tables"]["choices_it"], values["tables"]["significance"]
    del values["figures"]["average_score"]
    tasks = layout_of(values).choice_tasks("mistral-base")
    assert tasks == ["hellaswag_it", "arc_easy_en"]


def test_held_out_loss_of_untrained_runs(values):
    layout = layout_of(values)
    untrained = ["mistral-helper-itself", "mistral-fvt", "mistral-focus", "other-back"]
    assert layout.measured == [*untrained, "other-chosen", "other-carried"]
    windows = layout.heldout_windows("mistral-fvt")
    assert windows == "results/small/heldout/target--128/manifest.json"
    assert "results/small/runs/mistral-fvt/measured_heldout.csv" in layout.scored
    values["evaluation"]["heldout_length"] = 64
    windows = layout_of(values).heldout_windows("other-back")
    assert windows == "results/small/heldout/source--64/manifest.json"


def test_experiment_json_reads_back(values, tmp_path):
    """``recipe: null`` and nothing said are two things."""
    experiment = validate(values)
    write_json(tmp_path / "experiment.json", as_json(experiment))
    content = read_json(tmp_path / "experiment.json")
    again = Experiment.model_validate(content["experiment"])
    assert again == experiment and as_json(again) == as_json(experiment)
    assert [Run(**one).id for one in content["runs"]] == [run.id for run in expand(experiment)]


def test_shipped_runs_say_no_more_than_before(repository, monkeypatch):
    monkeypatch.chdir(repository)
    runs = as_json(validate(yaml.safe_load(Path("config/demos/demo.yaml").read_text())))["runs"]
    new = {"start", "donor", "stage_ends", "scores_of"}
    assert not new & {key for run in runs if run["group"] in ("mistral", "llama") for key in run}


# Bad combinations ---------------------------------------------------------------------------------

METHODS = "runs__other__methods"
WRONG = {
    "unknown run": (
        {f"{METHODS}__continued__start": {"run": "mistral-stagd"}},
        "runs.other.methods.continued.start.run: no run 'mistral-stagd' (known: ",
        "did you mean 'mistral-staged'?",
    ),
    "unknown step": (
        {f"{METHODS}__continued__start": {"run": "mistral-staged", "step": 5}},
        "runs.other.methods.continued.start.step: run 'mistral-staged' has no checkpoint 5",
        "(it has: 0, 4, 6, 8, first, last, embeddings, everything)",
    ),
    "a step of a run that is not trained": (
        {f"{METHODS}__continued__start": {"run": "mistral-fvt", "step": 10}},
        "run 'mistral-fvt' has no checkpoint 10",
        "(it has: 0)",
    ),
    "a ring": (
        {"runs__mistral__methods__staged__start": {"run": "other-continued"}},
        "runs: mistral-staged builds on itself",
        "(mistral-staged from other-continued from mistral-staged)",
    ),
    "the tokenizer that is there already": (
        {f"{METHODS}__back__target": "target"},
        "runs.other.methods.back.target: run 'mistral-sava' already has tokenizer 'target'",
        "use method 'lapt', which keeps it",
    ),
    "no target": (
        {"runs__mistral__target": None},
        "runs.mistral.methods.fvt.target: not given here or in the group",
        "name the tokenizer of the new rows",
    ),
    "no mixture": (
        {"runs__other__mixture": None},
        "runs.other.methods.continued.mixture: not given here or in the group",
        "but the run is trained",
    ),
    "no donor": (
        {f"{METHODS}__carried": {"method": "lep", "target": "target", "recipe": None}},
        "runs.other.methods.carried: method 'lep' needs 'donor: {run: ID, step: last}'",
        "received none",
    ),
    "a reference to no model": (
        {"runs__mistral__references": {"x": {"model": "helpr", "label": "X"}}},
        "runs.mistral.references.x.model: no model 'helpr'",
        "did you mean 'helper'?",
    ),
    "a reference with a run's name": (
        {"runs__mistral__references": {"fvt": {"model": "helper", "label": "X"}}},
        "both are run 'mistral-fvt'",
        "rename one of them",
    ),
    "a table at a step that is not scored": (
        {"tables__choices_it__steps": [10]},
        "tables.choices_it.steps: run 'mistral-sava' is not scored at 10",
        "evaluation.multiple_choice.steps (received [0, 'last'])",
    ),
    "a step that no run has": (
        {"evaluation__multiple_choice__steps": [0, "last", 7]},
        "evaluation.multiple_choice.steps: step 7 is not a checkpoint of a run of group 'mistral'",
        "or by name: first, last, embeddings, everything",
    ),
    "a stage named like a checkpoint": (
        {"recipes__two_of_stages__stages": [{"name": "last", "steps": 8}]},
        "stages: last names a checkpoint",
        "rename the stage",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_bad_combination_is_one_clear_line(values, case):
    changes, *parts = WRONG[case]
    found = problems_of(values, **changes)
    assert any(all(part in line for part in parts) for line in found), found


def test_a_recipe_must_be_said(values):
    del values["runs"]["other"]["recipe"]
    (line,) = [one for one in problems_of(values) if "recipe" in one]
    assert line.startswith("runs.other.methods.continued.recipe: not given here or in the group")
    assert "null for no training" in line


# Properties ---------------------------------------------------------------------------------------


@given(
    every=st.integers(1, 9),
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    wanted=st.lists(st.sampled_from(["first", "last", "stage0", 0, 1, 2, 5]), max_size=5),
)
def test_selected_steps_are_checkpoints_in_order(every, lengths, wanted):
    from revocab.training.recipe import Recipe

    recipe = Recipe(
        sequence_length=8, batch_size=1, learning_rate=1, checkpoint_every=every,
        stages=[{"name": f"stage{n}", "steps": one} for n, one in enumerate(lengths)],
    )  # fmt: skip
    steps = [0, *recipe.checkpoint_steps]
    assert steps == sorted({*steps}) and steps[-1] == recipe.steps == sum(lengths)
    assert {*recipe.stage_ends.values()} <= {*steps}
    found = selected(steps, recipe.stage_ends, wanted)
    assert found == sorted({*found}) and {*found} <= {*steps}
    assert ("last" in wanted) <= (steps[-1] in found)
    assert selected(steps, recipe.stage_ends, None) == steps[1:]


@given(st.permutations(["fvt", "random", "mean", "lapt"]), st.integers(1, 4))
@settings(max_examples=20)
def test_ids_are_unique_and_stable(order, count):
    """Whatever stands before it in the file, a run has the same id, settings and inputs."""
    values = yaml.safe_load((Path(__file__).parents[2] / FILES[0]).read_text())
    alone = copy.deepcopy(values)
    alone["runs"]["mistral"]["methods"] |= {"fvt": {"recipe": None}}
    values["runs"]["mistral"]["methods"] |= {name: {"recipe": None} for name in order[:count]}
    layout, other = layout_of(values), layout_of(alone)
    assert len({*layout.runs}) == len(expand(layout.experiment)) == 3 + count
    if "fvt" in order[:count]:
        assert layout.runs["mistral-fvt"] == other.runs["mistral-fvt"]
        first, second = (start_of(each, "mistral-fvt") for each in (layout, other))
        assert first == second


# Vocabulary adapters ------------------------------------------------------------------------------


def adapting(values: dict, method: str) -> dict:
    """Return the experiment with a run of a recipe that trains vocabulary adapters."""
    found = copy.deepcopy(values)
    recipe = found["runs"]["mistral"]["recipe"]
    stage = {"name": "adapters", "train": "embeddings", "adapter": {"auxiliary": 0.1}, "share": 1.0}
    found["recipes"]["adapters"] = {**found["recipes"][recipe], "stages": [stage]}
    found["runs"]["mistral"]["methods"]["new"] = {"method": method, "recipe": "adapters"}
    return found


def test_adapters_read_the_model_that_their_rows_are_made_of(values):
    layout = layout_of(adapting(values, "vocadt"))
    assert layout.adapter_source("mistral-new") == [layout.origin("mistral-new")]
    assert layout.adapter_source("mistral-sava") == []


def test_adapters_need_a_method_that_says_what_its_rows_combine(values):
    (problem,) = problems_of(adapting(values, "mean"))
    assert problem.startswith("runs.mistral.methods.new.recipe: 'adapters' trains vocabulary")
    combining = [name for name, method in methods().items() if method.source_weights]
    assert f"use {', '.join(combining)}, or another recipe" in problem


def test_a_stand_in_has_no_rows_to_combine(values):
    changed = adapting(values, "vocadt")
    model = next(name for name, one in changed["models"].items() if "pretrain" in one)
    changed["models"][model]["pretrain"]["recipe"] = "adapters"
    found = problems_of(changed)
    assert any(one.startswith(f"models.{model}.pretrain.recipe: 'adapters'") for one in found)
