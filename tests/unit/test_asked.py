"""What no table, figure or claim shows is not computed; null takes things away."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from revocab.config import validate
from revocab.config.load import without_nulls
from revocab.errors import RevocabError
from revocab.plan import Plan

SMALL = "tests/experiments/small.yaml"


@pytest.fixture
def values(repository, monkeypatch) -> dict:
    monkeypatch.chdir(repository)
    return yaml.safe_load(Path(SMALL).read_text(encoding="utf-8"))


def planned(values: dict, overlay: str = "{}") -> Plan:
    found = copy.deepcopy(values)
    update_config(found, yaml.safe_load(overlay))
    return Plan(validate(found))


def scored(plan: Plan) -> set[str]:
    """Return the files of scores that are made, relative to the results."""
    files = plan.step("collect_scores").also
    return {one.removeprefix("results/small/") for one in files}


def problems(values: dict, overlay: str) -> list[str]:
    with pytest.raises(RevocabError) as caught:
        planned(values, overlay)
    return caught.value.problems


# Only what is shown -------------------------------------------------------------------------------


def test_everything_shown_is_scored(values):
    plan = planned(values)
    run = plan.runs["mistral-sava"]
    assert plan.choice_tasks(run) == ["hellaswag_it", "arc_easy_en"]
    assert plan.generation_tasks(run) == ["flores_en_it", "squad_it"]


def test_a_task_that_nothing_shows_is_not_scored(values):
    plan = planned(values, "tables: {choices_en: null}")
    assert plan.choice_tasks(plan.runs["mistral-sava"]) == ["hellaswag_it"]
    tasks = plan.step("score_multiple_choice", run="mistral-sava").inputs["tasks"]
    assert [one.path for one in tasks] == ["results/small/tasks/hellaswag_it.yaml"]


def test_columns_that_nothing_shows_are_not_scored(values):
    values["evaluation"]["multiple_choice"]["tasks"]["more"] = {
        "family": "boolq", "language": "en", "template": "boolq_en", "data": {"world": "boolq.en"}
    }  # fmt: skip
    plan = planned(values, "tables: {choices_en: {columns: [boolq]}}")
    assert plan.choice_tasks(plan.runs["mistral-sava"]) == ["hellaswag_it", "more"]


def test_nothing_is_generated_where_no_table_shows_it(values):
    overlay = "tables: {generation: null, answers: null, prompts: null}"
    made = scored(planned(values, overlay))
    assert "runs/mistral-sava/multiple_choice.csv" in made
    assert not [one for one in made if "generation" in one]


def test_no_similarity_where_nothing_shows_it(values):
    made = scored(planned(values, "{tables: {similarity: null}, figures: {similarity: null}}"))
    assert not [one for one in made if "similarity" in one]
    assert [one for one in scored(planned(values)) if "similarity" in one]


def test_a_group_that_nothing_shows_is_trained_and_not_scored(values):
    values["runs"]["other"] = {**values["runs"]["mistral"], "label": "Other", "source": "helper"}
    values["runs"]["other"] |= {"methods": {"lapt": {}}, "target": None}
    plan = planned(values)
    assert plan.choice_tasks(plan.runs["other-lapt"]) == []
    assert "runs/other-lapt/manifest.json" in scored(plan)  # its held-out loss is on the page
    assert not [one for one in scored(plan) if "other" in one and "choice" in one]


# Empty sections -----------------------------------------------------------------------------------


def test_tokenizers_alone(values):
    kept = ("experiment", "title", "world", "corpora", "tokenizers", "fertility")
    plan = planned({key: values[key] for key in kept}, "intersections: [[source, target]]")
    assert plan.runs == {} and plan.intersections == [("source", "target")]
    assert scored(plan) == set()
    page = plan.step("build_report")
    assert "results/small/fertility/manifest.json" in page.also
    assert "results/small/intersections/source--target/manifest.json" in page.also


# Null ---------------------------------------------------------------------------------------------


def test_null_is_a_default_or_takes_away(values):
    plan = planned(values, "runs: {mistral: {methods: {instruct: null}}}\nfigures: {loss: null}")
    assert list(plan.runs) == ["mistral-base", "mistral-sava"]
    assert "loss" not in plan.experiment.figures
    same = planned(values, "runs: {mistral: {methods: {sava: {helper: null, anchors: null}}}}")
    assert same.runs["mistral-sava"] == planned(values).runs["mistral-sava"]


def test_null_says_not_trained_in_a_recipe_alone():
    given = {"runs": {"g": {"recipe": None, "target": None, "methods": {"m": {"recipe": None}}}}}
    assert without_nulls(given) == {
        "runs": {"g": {"recipe": None, "methods": {"m": {"recipe": None}}}}
    }


# Languages of a group -----------------------------------------------------------------------------


#: A second group that shows the same source model, scored in English alone.
ENGLISH = """
runs:
  english:
    {label: English, source: mistral, target: target, mixture: bilingual, recipe: train,
     languages: [en], methods: {fvt: {}}}
tables:
  english_en: {kind: multiple_choice, group: english, language: en, title: Choices}
"""


def test_a_group_is_scored_on_tasks_in_its_languages(values):
    plan = planned(values, "runs: {mistral: {languages: [en, it]}}")
    assert plan.generation_tasks(plan.runs["mistral-sava"]) == ["flores_en_it", "squad_it"]
    overlay = "{runs: {mistral: {languages: [it]}}, tables: {choices_en: null}}"
    plan = planned(values, overlay)
    run = plan.runs["mistral-sava"]
    assert plan.choice_tasks(run) == ["hellaswag_it"]
    assert plan.generation_tasks(run) == ["squad_it"]  # the translation needs English as well


def test_a_model_that_two_groups_show_is_scored_on_the_tasks_of_both(values):
    plan = planned(values, ENGLISH + "\n  choices_en: null")
    assert plan.choice_tasks(plan.runs["english-fvt"]) == ["arc_easy_en"]
    assert plan.choice_tasks(plan.runs["mistral-base"]) == ["hellaswag_it", "arc_easy_en"]
    assert plan.choice_tasks(plan.runs["mistral-sava"]) == ["hellaswag_it"]


def test_tables_and_figures_in_a_language_that_a_group_does_not_have(values):
    found = problems(values, "runs: {mistral: {languages: [en]}}")
    advice = (
        "'it' is not a language of group 'mistral' (runs.mistral.languages: en), whose runs are"
        " scored only on tasks in these; choose one of them, or add it there"
    )
    keys = ("tables.choices_it", "tables.significance", "figures.average_score")
    assert [one for one in found if ".language: " in one] == [
        f"{key}.language: {advice}" for key in keys
    ]
    others = [one for one in found if ".language: " not in one]
    assert [one.partition(", and no ")[0] for one in others] == [
        "tables.generation: shows generation", "tables.answers: shows generation"
    ]  # fmt: skip


def test_no_generative_task_in_languages_of_a_group(values):
    overlay = ENGLISH + "\n  written: {kind: generation, group: english, title: Text}"
    (problem,) = problems(values, overlay)
    assert "shows generation, and no generative task is in languages of group 'english'" in problem


def test_languages_without_a_task(values):
    assert problems(values, "runs: {mistral: {languages: [en, it, sw]}}") == [
        "runs.mistral.languages: no language with tasks 'sw' (known: en, it)"
    ]
