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
    return {file.removeprefix("results/small/") for file in layout.scored}


def problems(values: dict, overlay: str) -> list[str]:
    with pytest.raises(RevocabError) as caught:
        planned(values, overlay)
    return caught.value.problems


# Only what is shown -------------------------------------------------------------------------------


CHOICE, WRITTEN = ["hellaswag_it", "arc_easy_en"], ["flores_en_it", "squad_it"]


@pytest.mark.parametrize(
    ("overlay", "choice", "written"),
    [
        ("{}", CHOICE, WRITTEN),
        ("tables: {choices_en: null}", CHOICE[:1], WRITTEN),
        ("runs: {mistral: {languages: [en, it]}}", CHOICE, WRITTEN),
        # The translation needs English as well.
        ("{runs: {mistral: {languages: [it]}}, tables: {choices_en: null}}", CHOICE[:1],
         WRITTEN[1:]),
    ],
)  # fmt: skip
def test_tasks_that_are_shown_in_languages_of_the_group_are_scored(
    values, overlay, choice, written
):
    layout = planned(values, overlay)
    assert layout.choice_tasks("mistral-sava") == choice
    assert layout.generation_tasks("mistral-sava") == written


@pytest.mark.parametrize(
    ("overlay", "part"),
    [
        ("tables: {generation: null, answers: null, prompts: null}", "generation"),
        ("{tables: {similarity: null}, figures: {similarity: null}}", "similarity"),
    ],
)
def test_nothing_is_computed_where_nothing_shows_it(values, overlay, part):
    before, files = scored(planned(values)), scored(planned(values, overlay))
    assert files == {file for file in before if part not in file} < before
    assert "runs/mistral-sava/multiple_choice.csv" in files


def test_a_group_that_nothing_shows_is_trained_and_not_scored(values):
    values["runs"]["other"] = {**values["runs"]["mistral"], "label": "Other", "source": "helper"}
    values["runs"]["other"] |= {"methods": {"lapt": {}}, "target": None}
    layout = planned(values)
    assert layout.choice_tasks("other-lapt") == []
    assert "runs/other-lapt/manifest.json" in scored(layout)  # its held-out loss is on the page
    assert not [file for file in scored(layout) if "other" in file and "choice" in file]


# Empty sections -----------------------------------------------------------------------------------


def test_tokenizers_alone(values):
    sections = ("experiment", "title", "world", "corpora", "tokenizers", "fertility")
    layout = planned({key: values[key] for key in sections}, "intersections: [[source, target]]")
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
    entries = {"runs": {"g": {"recipe": None, "target": None, "methods": {"m": {"recipe": None}}}}}
    assert without_nulls(entries) == {
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


def test_a_model_that_two_groups_show_is_scored_on_the_tasks_of_both(values):
    layout = planned(values, ENGLISH + "\n  choices_en: null")
    assert layout.choice_tasks("english-fvt") == ["arc_easy_en"]
    assert layout.choice_tasks("mistral-base") == ["hellaswag_it", "arc_easy_en"]
    assert layout.choice_tasks("mistral-sava") == ["hellaswag_it"]


def test_tables_and_figures_in_a_language_that_a_group_does_not_have(values):
    found = problems(values, "runs: {mistral: {languages: [en]}}")
    keys = ("choices_it", "generation", "significance", "answers", "average_score")
    assert all(any(f".{key}" in line.partition(":")[0] for key in keys) for line in found)
    for key in ("tables.choices_it", "tables.significance", "figures.average_score"):
        (line,) = (problem for problem in found if problem.startswith(f"{key}:"))
        assert "in other languages than the group's (runs.mistral.languages: en)" in line
    for key in ("tables.generation", "tables.answers"):
        assert any(line.startswith(f"{key}: shows no number") for line in found)
    overlay = ENGLISH + "\n  written: {kind: generation, group: english, title: Text}"
    (problem,) = problems(values, overlay)
    assert problem.startswith("tables.written: shows no number")
    assert problems(values, "runs: {mistral: {languages: [en, it, sw]}}") == [
        "runs.mistral.languages: no language with tasks 'sw' (known: en, it)"
    ]
