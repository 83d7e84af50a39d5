"""What no table, figure or claim shows is not computed; null takes things away."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from revocab.errors import RevocabError
from revocab.experiment import validate
from revocab.experiment.layout import Layout
from revocab.experiment.load import without_nulls

SMALL = "tests/experiments/small.yaml"


@pytest.fixture
def values(repository, monkeypatch) -> dict:
    monkeypatch.chdir(repository)
    return yaml.safe_load(Path(SMALL).read_text(encoding="utf-8"))


def planned(values: dict, overlay: str = "{}") -> Layout:
    found = copy.deepcopy(values)
    update_config(found, yaml.safe_load(overlay))
    return Layout(validate(found))


def scored(layout: Layout) -> set[str]:
    """Return the files of scores that are made, relative to the results."""
    return {one.removeprefix("results/small/") for one in layout.scored}


def problems(values: dict, overlay: str) -> list[str]:
    with pytest.raises(RevocabError) as caught:
        planned(values, overlay)
    return caught.value.problems


# Only what is shown -------------------------------------------------------------------------------


def test_everything_shown_is_scored(values):
    layout = planned(values)
    run = "mistral-sava"
    assert layout.choice_tasks(run) == ["hellaswag_it", "arc_easy_en"]
    assert layout.generation_tasks(run) == ["flores_en_it", "squad_it"]


def test_a_task_that_nothing_shows_is_not_scored(values):
    layout = planned(values, "tables: {choices_en: null}")
    assert layout.choice_tasks("mistral-sava") == ["hellaswag_it"]


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
    layout = planned(values)
    assert layout.choice_tasks("other-lapt") == []
    assert "runs/other-lapt/manifest.json" in scored(layout)  # its held-out loss is on the page
    assert not [one for one in scored(layout) if "other" in one and "choice" in one]


# Empty sections -----------------------------------------------------------------------------------


def test_tokenizers_alone(values):
    kept = ("experiment", "title", "world", "corpora", "tokenizers", "fertility")
    layout = planned({key: values[key] for key in kept}, "intersections: [[source, target]]")
    assert layout.runs == {} and layout.intersections == [("source", "target")]
    assert scored(layout) == set()
    assert "results/small/fertility/manifest.json" in layout.described
    assert "results/small/intersections/source--target/manifest.json" in layout.described


# Null ---------------------------------------------------------------------------------------------


def test_null_is_a_default_or_takes_away(values):
    layout = planned(values, "runs: {mistral: {methods: {instruct: null}}}\nfigures: {loss: null}")
    assert list(layout.runs) == ["mistral-base", "mistral-sava"]
    assert "loss" not in layout.experiment.figures
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
    layout = planned(values, "runs: {mistral: {languages: [en, it]}}")
    assert layout.generation_tasks("mistral-sava") == ["flores_en_it", "squad_it"]
    overlay = "{runs: {mistral: {languages: [it]}}, tables: {choices_en: null}}"
    layout = planned(values, overlay)
    run = "mistral-sava"
    assert layout.choice_tasks(run) == ["hellaswag_it"]
    assert layout.generation_tasks(run) == ["squad_it"]  # the translation needs English as well


def test_a_model_that_two_groups_show_is_scored_on_the_tasks_of_both(values):
    layout = planned(values, ENGLISH + "\n  choices_en: null")
    assert layout.choice_tasks("english-fvt") == ["arc_easy_en"]
    assert layout.choice_tasks("mistral-base") == ["hellaswag_it", "arc_easy_en"]
    assert layout.choice_tasks("mistral-sava") == ["hellaswag_it"]


def test_tables_and_figures_in_a_language_that_a_group_does_not_have(values):
    found = problems(values, "runs: {mistral: {languages: [en]}}")
    keys = ("choices_it", "generation", "significance", "answers", "average_score")
    assert [
        one for one in found if not any(f".{key}" in one.partition(":")[0] for key in keys)
    ] == []
    for key in ("tables.choices_it", "tables.significance", "figures.average_score"):
        (line,) = (one for one in found if one.startswith(f"{key}:"))
        assert "in other languages than the group's (runs.mistral.languages: en)" in line
    for key in ("tables.generation", "tables.answers"):
        assert any(one.startswith(f"{key}: shows no number") for one in found)


def test_no_generative_task_in_languages_of_a_group(values):
    overlay = ENGLISH + "\n  written: {kind: generation, group: english, title: Text}"
    (problem,) = problems(values, overlay)
    assert problem.startswith("tables.written: shows no number")


def test_languages_without_a_task(values):
    assert problems(values, "runs: {mistral: {languages: [en, it, sw]}}") == [
        "runs.mistral.languages: no language with tasks 'sw' (known: en, it)"
    ]
