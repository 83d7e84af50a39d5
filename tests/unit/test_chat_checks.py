"""What an experiment may not say of conversations, which a model may answer, and which jobs it
plans where it may.
"""

from __future__ import annotations

import copy

import pytest
import yaml
from refusals import problems

from revocab.experiment import options, validate
from revocab.experiment.layout import Layout
from revocab.experiment.load import overlaid
from revocab.training.named_recipes import named_recipe
from revocab.training.recipe import Recipe

FILES = ("tests/experiments/small.yaml", "tests/experiments/runs.yaml")
#: A corpus that the tuned run answers.
OWN = {
    "language": "en",
    "source": {"world": "conversations.en.train"},
    "messages_field": "messages",
    "answers": {"model": {"run": "mistral-instruct"}, "judge": {"kind": "rule"}},
}


@pytest.fixture
def values(repository, monkeypatch) -> dict:
    """The small experiment with the run that is tuned."""
    monkeypatch.chdir(repository)
    first, second = (yaml.safe_load((repository / name).read_text()) for name in FILES)
    return overlaid(first, second)


@pytest.fixture
def answered(values) -> dict:
    values["corpora"]["own"] = copy.deepcopy(OWN)
    return values


def test_a_recipe_learns_from_corpora_of_its_kind_alone(values):
    values["runs"]["mistral"]["methods"]["instruct"]["mixture"] = "italian"
    values["runs"]["mistral"]["methods"]["staged"]["mixture"] = "chat"
    found = problems(values)
    text, conversations = sorted(found, reverse=True)
    assert "corpus 'world-it' holds text, but recipe 'answers' trains on answers" in text
    assert "corpus 'chat' holds conversations, but recipe 'two-stages' trains on" in conversations


@pytest.mark.parametrize(
    ("section", "changes", "said"),
    [
        ("evaluation", {"heldout": ["chat"]},
         "evaluation.heldout: names only conversations, but recipe 'train' trains on text"),
        ("world", {"conversations": 0},
         "corpora.chat.source.world: 'conversations.en.train', but world.conversations is 0"),
        ("recipes", {"chat_template": "plane"}, "recipes.answers.chat_template: no file 'plane',"
         " and no template of this name (known: chatml, "),
        ("recipes", {"chat_template": "{data_root}/chat.jinja"}, "data_root: "),
        ("recipes", {"document_end": True, "rows_begin_at": "document"},
         "recipes.answers: document_end, rows_begin_at with loss: answers"),
        ("recipes", {"loss": "all"}, "recipes.answers: drop_too_long, chat_template with"),
        ("recipes", {"loss": "questions"}, "recipes.answers.loss: "),
    ],
)  # fmt: skip
def test_what_does_not_go_with_conversations_is_refused(values, section, changes, said):
    place = values["recipes"]["answers"] if section == "recipes" else values[section]
    place |= changes
    found = problems(values)
    assert any(line.startswith(said) for line in found), found
    assert len(found) == 1 or section == "evaluation", found  # much needs text that is held out


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


# Answers ---------------------------------------------------------------------------------------


def test_a_corpus_is_made_of_judged_answers(answered):
    layout = Layout(experiment := validate(answered))
    model = layout.referred(experiment.corpora["own"].answers.model).folder
    assert model.startswith("results/small/runs/mistral-instruct/checkpoints")
    assert layout.answered == layout.judged == ["own"]
    assert layout.corpus_files("own") == ["resources/small/judged/own/conversations.jsonl.gz"]
    job = options.corpus(experiment, "own")
    assert job.messages_field == "messages" and job.source.kind == "path"
    del answered["corpora"]["own"]["answers"]["judge"]
    layout = Layout(validate(answered))
    assert layout.corpus_files("own") == ["resources/small/answers/own/conversations.jsonl.gz"]


def test_what_is_missing_or_wrong_is_told_at_once(answered):
    own = answered["corpora"]["own"]
    own["answers"] |= {"model": "mistrel", "judge": {"kind": "llm"}, "chat_template": "plane"}
    del own["messages_field"]
    found = problems(answered)
    assert len(found) == 4
    for said in (
        "corpora.own.answers.model: no model 'mistrel'",
        "corpora.own.answers: only conversations can be answered, and corpora.own holds text",
        "corpora.own.answers.judge_model: judge 'llm' needs a model; name one",
        "corpora.own.answers.chat_template: no file 'plane'",
    ):
        assert any(line.startswith(said) for line in found), said


def test_a_judge_by_rule_has_no_model_and_runs_have_to_be_there(answered):
    own = answered["corpora"]["own"]["answers"]
    own |= {"judge_model": "mistral", "model": {"run": "mistral-instruct", "step": 7}}
    found = problems(answered)
    assert any("judge_model: judge 'rule' uses no model; remove it" in line for line in found)
    assert any("model.step: run 'mistral-instruct' has no checkpoint 7" in line for line in found)


def test_a_model_does_not_answer_what_it_is_trained_on(answered):
    """The tuned run would read its own answers; through another run, too."""
    answered["mixtures"]["chat"] = {"chat": 0.5, "own": 0.5}
    (found,) = problems(answered)
    assert "trained on it (own from run mistral-instruct from own)" in found
