"""The experiment file: what is accepted, what is refused and how, and what it expands to."""

from __future__ import annotations

import copy

import pytest
import yaml
from refusals import problems

from revocab.errors import RevocabError
from revocab.experiment import expand, read, validate
from revocab.experiment.schema import Recipe


@pytest.mark.shared_data
def test_two_experiments_are_not_mixed(repository, monkeypatch):
    monkeypatch.chdir(repository)
    files = ["config/demos/demo.yaml", "config/overlays/evaluation-extra.yaml", "config/sava.yaml"]
    with pytest.raises(RevocabError, match=r"config/demos/demo\.yaml and config/sava\.yaml"):
        read(*files)


def test_runs_of_the_demo(demo):
    runs = {run.id: run for run in expand(validate(demo))}
    assert list(runs)[:3] == ["mistral-base", "mistral-random", "mistral-fvt"]
    assert runs["mistral-base"].steps == [0] and not runs["mistral-base"].trains
    assert runs["mistral-lapt"].target == "source" and runs["mistral-lapt"].helper is None
    assert runs["ablations-sava-helper-small"].helper == "helper-small"
    assert runs["ablations-sava-anchors50"].options == {"anchors": 50}
    assert not runs["ablations-sava-anchors50"].evaluate
    assert runs["mistral-sava"].steps[0] == 0


@pytest.mark.parametrize(
    ("steps", "every", "expected"),
    [(100, 25, [25, 50, 75, 100]), (100, 30, [30, 60, 90, 100]), (10, 10, [10]), (5, 10, [5])],
)
def test_checkpoint_steps(steps, every, expected):
    recipe = Recipe(
        sequence_length=8, batch_size=1, steps=steps, learning_rate=1, checkpoint_every=every
    )
    assert recipe.checkpoint_steps == expected


def test_all_five_mistakes_are_named_at_once(demo):
    """Unknown key, missing corpus, method without helper, step off the grid, mixture off 1."""
    values = copy.deepcopy(demo)
    values["colour"] = "red"
    values["mixtures"]["adaptation"] = {"world-it": 0.7, "world-fr": 0.2}
    del values["runs"]["llama"]["helper"]
    values["tables"]["table03"]["steps"] = ["first", 33]
    lines = problems(values)
    expected = [
        "colour: unknown key",
        "mixtures.adaptation: no corpus 'world-fr'",
        "mixtures.adaptation: shares sum to 0.9",
        "runs.llama.methods.sava: method 'sava' needs a helper model",
        "tables.table03.steps: step 33 is not a checkpoint",
    ]
    for start in expected:
        assert any(line.startswith(start) for line in lines), (start, lines)
    assert len(lines) == len(expected)


def test_of_a_file_that_does_not_fit_nothing_that_may_follow_is_told(demo):
    values = copy.deepcopy(demo)
    values["recipies"] = values.pop("recipes")
    values["mixtures"]["wrong"] = [1.0]
    values["runs"]["mistral"]["source"] = "mistrel"
    first, second = problems(values)
    assert first.startswith("mixtures.wrong: ") and second.startswith("recipies: unknown key")


def test_a_file_that_is_no_mapping(tmp_path):
    (tmp_path / "a.yaml").write_text("- 1\n")
    with pytest.raises(RevocabError, match="expected a mapping"):
        read(tmp_path / "a.yaml")


def test_parallel_text_must_have_the_languages(demo):
    demo["fertility"]["parallel"] = {
        "source": {"lines": {"en": "README.md", "it": "README.md"}},
        "languages": ["en", "de", "de"],
    }
    lines = problems(demo)
    assert any("languages: ['en', 'de', 'de'] has duplicates" in line for line in lines)
    assert any("no language in lines 'de' (known: en, it)" in line for line in lines)
    demo["fertility"]["parallel"] = None
    lines = problems(demo)
    assert any(line.startswith("tables.parity: kind 'parity' shows") for line in lines)
    assert any(line.startswith("figures.token_counts: kind") for line in lines)


def test_extra_tables_are_checked(demo):
    demo["tables"]["table12"] = {
        "kind": "significance", "group": "mistral", "language": "it", "against": "savva",
        "step": 7, "title": "t",
    }  # fmt: skip
    demo["tables"]["table13"] = {"kind": "efficiency", "group": "mistral", "title": "t"}
    demo["tables"]["table14"] = {"kind": "adoption", "group": "mistral", "title": "t"}
    found = "\n".join(problems(demo))
    assert "tables.table12.against: no scored run of the group 'savva'" in found
    assert "did you mean 'sava'" in found
    assert "tables.table12.step: step 7 is not a checkpoint" in found
    assert "tables.table13: needs evaluation.efficiency" in found
    assert "tables.table14: needs evaluation.adoption" in found
    demo["tables"]["table12"]["language"] = "fr"  # what names nothing comes before all else
    found = "\n".join(problems(demo))
    assert "tables.table12.language: no language with tasks 'fr'" in found
    assert "tables.table12.against" not in found and "tables.table13: needs" in found


@pytest.mark.parametrize(
    ("changes", "start"),
    [
        ({"kind": "copying"}, "unit: required and not given ("),
        ({"unit": "sentence"}, "unit: unknown key (allowed: asked_by, direction, items"),
        ({"score": "f1_exact"}, "score: no metric of its kind 'f1_exact' (known: "),
    ],
)
def test_an_option_of_a_generation_task_is_of_its_kind(demo, changes, start):
    tasks = demo["evaluation"]["generation"]["tasks"]
    tasks["other"] = {**tasks["squad_it"], **changes}
    (line,) = problems(demo)
    assert line.startswith(f"evaluation.generation.tasks.other.{start}")


def test_a_language_without_the_words_of_a_prompt(demo):
    tasks = demo["evaluation"]["generation"]["tasks"]
    tasks["flores_en_la"] = {**tasks["flores_en_it"], "direction": ["en", "la"]}
    tasks["flores_la_it"] = {**tasks["flores_en_it"], "direction": ["la", "it"]}
    choices = demo["evaluation"]["multiple_choice"]["tasks"]
    choices["xcopa_ru"] = {**choices["piqa_it"], "language": "ru", "template": "xcopa"}
    from_english, from_latin, xcopa = problems(demo)
    key = "evaluation.generation.tasks"
    assert from_english.startswith(f"{key}.flores_en_la.direction ['en', 'la']: ")
    assert "languages/la.yaml lacks the words translate (" in from_english
    assert "languages/it.yaml lacks the words from_la (" in from_latin
    assert xcopa.startswith("evaluation.multiple_choice.tasks.xcopa_ru: ")
    assert "ru.yaml lacks the words cause, effect (" in xcopa


def with_group(values: dict, name: str, methods: dict) -> dict:
    return {
        **values,
        "runs": {**values["runs"], name: {**values["runs"]["mistral"], "methods": methods}},
    }


@pytest.mark.parametrize(
    ("group", "methods", "name", "keys"),
    [
        ("mistral-sava", {"x": {"method": "fvt"}}, "sava-x", "runs.mistral-sava.methods.x"),
        ("mistral-x", {}, "x-base", "the base model of runs.mistral-x"),
    ],
)
def test_two_runs_never_share_an_id(demo, group, methods, name, keys):
    values = with_group(copy.deepcopy(demo), group, methods)
    values["runs"]["mistral"]["methods"][name] = {"method": "fvt"}
    (line,) = problems(values)
    assert line.startswith(f"runs.mistral.methods.{name} and {keys}: both are run 'mistral-{name}'")


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("boolq_it", "evaluation.multiple_choice.tasks.boolq_it"),
        ("average_it", "the average over tasks in 'it'"),
        ("heldout_world-it", "the held-out loss on evaluation.heldout 'world-it'"),
        ("similarity_mistral-sava", "the similarity to 'mistral-sava'"),
        ("similarity_helper-large", "the similarity to 'helper-large'"),
    ],
)
def test_two_rows_of_scores_never_share_a_task(demo, name, other):
    values = copy.deepcopy(demo)
    tasks = values["evaluation"]["generation"]["tasks"]
    tasks[name] = tasks["squad_it"]
    (line,) = problems(values)
    assert other in line and f"evaluation.generation.tasks.{name}" in line
    assert f"both are task {name!r}" in line and line.endswith("rename one of them")


@pytest.mark.parametrize("name", ["a--b", "-a", "a-", "a/b", "a\n"])
@pytest.mark.parametrize("section", ["tokenizers", "mixtures", "recipes", "corpora", "runs"])
def test_ids_cannot_hold_what_joins_them(demo, section, name):
    """Folders are named tokenizer--mixture--recipe and source--target."""
    values = copy.deepcopy(demo)
    values[section][name] = next(iter(values[section].values()))
    assert any(line.startswith(f"{section}.{name}") for line in problems(values))


def test_a_text_longer_than_a_stand_ins_context(repository):
    values = yaml.safe_load((repository / "config/demos/demo.yaml").read_text(encoding="utf-8"))
    values["models"]["mistral"]["pretrain"]["context_length"] = 300
    values["recipes"]["adapt"]["sequence_length"] = 400
    with pytest.raises(RevocabError) as caught:
        validate(values)
    key = "models.mistral.pretrain.context_length: 300 tokens, but"
    for what in ("recipes.adapt.sequence_length is 400", "evaluation.generation.context_length is"):
        assert any(f"{key} {what}" in one for one in caught.value.problems)
    assert not any("recipes.pretrain" in one for one in caught.value.problems)
