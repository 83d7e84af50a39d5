"""What an experiment may not say of conversations, and which jobs it plans where it may."""

from __future__ import annotations

import pytest
import yaml
from refusals import problems

from revocab.experiment import options, validate
from revocab.experiment.layout import Layout
from revocab.training.named_recipes import named_recipe
from revocab.training.recipe import Recipe

FILES = ("tests/experiments/small.yaml", "tests/experiments/runs.yaml")


@pytest.fixture
def values(repository, monkeypatch) -> dict:
    """The small experiment with the run that is tuned."""
    from revocab.experiment.load import overlaid

    monkeypatch.chdir(repository)
    first, second = (yaml.safe_load((repository / name).read_text()) for name in FILES)
    return overlaid(first, second)


def test_a_recipe_learns_from_corpora_of_its_kind_alone(values):
    values["runs"]["mistral"]["methods"]["instruct"]["mixture"] = "italian"
    values["runs"]["mistral"]["methods"]["staged"]["mixture"] = "chat"
    found = problems(values)
    text, conversations = sorted(found, reverse=True)
    assert "corpus 'world-it' holds text, but recipe 'answers' trains on answers" in text
    assert "corpus 'chat' holds conversations, but recipe 'two-stages' trains on" in conversations


def test_held_out_conversations_do_not_do_for_text(values):
    values["evaluation"]["heldout"] = ["chat"]
    (found,) = [
        one for one in problems(values) if one.startswith("evaluation.heldout: names only con")
    ]
    assert "trains on text; name a corpus of text too" in found


def test_a_world_without_conversations_has_none_to_give(values):
    values["world"]["conversations"] = 0
    (problem,) = problems(values)
    assert "but world.conversations is 0" in problem


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (
            "plane",
            "recipes.answers.chat_template: no file 'plane', and no template of this name (kno",
        ),
        ("{data_root}/chat.jinja", "data_root: this experiment reads files under {data_root}"),
    ],
)
def test_a_template_must_be_there(values, template, said):
    values["recipes"]["answers"]["chat_template"] = template
    (found,) = problems(values)
    assert found.startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"document_end": True, "rows_begin_at": "document"},
         "document_end, rows_begin_at with loss: answers: a conversation begins and ends as"),
        ({"loss": "all"}, "drop_too_long, chat_template with loss: all: only conversations can"),
        ({"loss": "questions"}, "recipes.answers.loss: "),
    ],
)  # fmt: skip
def test_keys_that_decide_nothing_are_refused(values, changes, said):
    values["recipes"]["answers"] |= changes
    assert any(said in one for one in problems(values))


def test_conversations_held_out_make_no_text_be_packed_again(values):
    layout = Layout(experiment := validate(values))
    text, chat = ("world-it", "world-en"), ("chat",)
    assert layout.texts_held_out("train") == layout.corpora(text, "heldout")
    assert layout.texts_held_out("answers") == layout.corpora(chat, "heldout")
    template = layout.chat_template(experiment.recipes["answers"].chat_template)
    assert template == ["src/revocab/training/chat/templates/plain.jinja"]


def test_a_tuned_run_is_measured_on_text_and_answers(values):
    layout = Layout(experiment := validate(values))
    assert options.run_training(experiment, "mistral-instruct").loss == "answers"
    file = layout.heldout_of(layout.paths.run("mistral-instruct"))
    assert file == "results/small/heldout_answers/source--answers/manifest.json"
    assert experiment.evaluation.heldout == ["world-it", "world-en", "chat"]
    assert layout.heldout_corpora == ["world-it", "world-en"]


@pytest.mark.parametrize(("name", "schedule"), [("answers", "linear"), ("answers-lora", "cosine")])
def test_the_shipped_recipes_take_the_tokenizers_own_template(name, schedule):
    recipe = Recipe.model_validate(named_recipe("one", {"like": name})[0])
    assert (recipe.loss, recipe.chat_template, recipe.schedule) == ("answers", None, schedule)
