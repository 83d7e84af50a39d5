"""What an experiment may not say of conversations, and which jobs it plans where it may."""

from __future__ import annotations

import pytest
import yaml
from refusals import problems

from revocab.config import validate
from revocab.plan import Plan

FILES = ("tests/experiments/small.yaml", "tests/experiments/runs.yaml")


@pytest.fixture
def values(repository, monkeypatch) -> dict:
    """The small experiment with the run that is tuned."""
    from revocab.config.load import overlaid

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
    plan = Plan(validate(values))
    text = plan.step("pack_tokens", tokenizer="target", mixture="bilingual", recipe="train")
    chat = plan.step("pack_tokens", tokenizer="source", mixture="chat", recipe="answers")
    held = [[one.path for one in step.inputs["heldout"]] for step in (text, chat)]
    assert [[path.rpartition("/")[2] for path in one] for one in held] == [
        ["world-it", "world-en"], ["chat"]
    ]  # fmt: skip
    assert chat.inputs["chat_template"].path == "src/revocab/chat/templates/plain.jinja"


def test_a_tuned_run_is_measured_on_text_and_answers(values):
    plan = Plan(validate(values))
    trained = plan.step("adapt_model", run="mistral-instruct")
    assert trained.job.loss == "answers"
    folder = trained.inputs["heldout"].path
    heldout = plan.step("pack_heldout_answers", tokenizer="source", recipe="answers")
    assert heldout.out == folder
    assert list(heldout.inputs["corpora"]) == ["world-it", "world-en", "chat"]
    text = plan.step("pack_heldout", tokenizer="target", length="128")
    assert list(text.inputs["corpora"]) == ["world-it", "world-en"]
    assert "chat_template" not in text.inputs


@pytest.mark.parametrize(("name", "schedule"), [("answers", "linear"), ("answers-lora", "cosine")])
def test_the_shipped_recipes_take_the_tokenizers_own_template(values, name, schedule):
    values["recipes"]["one"] = {"from": name}
    recipe = validate(values).recipes["one"]
    assert (recipe.loss, recipe.chat_template, recipe.schedule) == ("answers", None, schedule)
