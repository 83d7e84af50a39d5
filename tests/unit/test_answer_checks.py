"""What an experiment may not say of corpora that a model answers, and which jobs it plans."""

from __future__ import annotations

import copy

import pytest
import yaml
from refusals import problems

from revocab.experiment import options, validate
from revocab.experiment.layout import Layout
from revocab.experiment.load import overlaid

FILES = ("tests/experiments/small.yaml", "tests/experiments/runs.yaml")
OWN = {
    "language": "en",
    "source": {"world": "conversations.en.train"},
    "messages_field": "messages",
    "answers": {"model": {"run": "mistral-instruct"}, "judge": {"kind": "rule"}},
}


@pytest.fixture
def values(repository, monkeypatch) -> dict:
    """The small experiment with a corpus that its tuned run answers."""
    monkeypatch.chdir(repository)
    first, second = (yaml.safe_load((repository / name).read_text()) for name in FILES)
    return overlaid(overlaid(first, second), {"corpora": {"own": copy.deepcopy(OWN)}})


def test_a_corpus_is_made_of_judged_answers(values):
    layout = Layout(experiment := validate(values))
    model = layout.referred(experiment.corpora["own"].answers.model).folder
    assert model.startswith("results/small/runs/mistral-instruct/checkpoints")
    assert layout.answered == layout.judged == ["own"]
    assert layout.corpus_files("own") == ["resources/small/judged/own/conversations.jsonl.gz"]
    job = options.corpus(experiment, "own")
    assert job.messages_field == "messages" and job.source.kind == "path"
    del values["corpora"]["own"]["answers"]["judge"]
    layout = Layout(validate(values))
    assert layout.corpus_files("own") == ["resources/small/answers/own/conversations.jsonl.gz"]


def test_what_is_missing_or_wrong_is_told_at_once(values):
    own = values["corpora"]["own"]
    own["answers"] |= {"model": "mistrel", "judge": {"kind": "llm"}, "chat_template": "plane"}
    del own["messages_field"]
    found = problems(values)
    assert len(found) == 4
    for said in (
        "corpora.own.answers.model: no model 'mistrel'",
        "corpora.own.answers: only conversations can be answered, and corpora.own holds text",
        "corpora.own.answers.judge_model: judge 'llm' needs a model; name one",
        "corpora.own.answers.chat_template: no file 'plane'",
    ):
        assert any(one.startswith(said) for one in found), said


def test_a_judge_by_rule_has_no_model_and_runs_have_to_be_there(values):
    own = values["corpora"]["own"]["answers"]
    own |= {"judge_model": "mistral", "model": {"run": "mistral-instruct", "step": 7}}
    found = problems(values)
    assert any("judge_model: judge 'rule' uses no model; remove it" in one for one in found)
    assert any("model.step: run 'mistral-instruct' has no checkpoint 7" in one for one in found)


def test_a_model_does_not_answer_what_it_is_trained_on(values):
    """The tuned run would read its own answers; through another run, too."""
    values["mixtures"]["chat"] = {"chat": 0.5, "own": 0.5}
    (found,) = problems(values)
    assert "trained on it (own from run mistral-instruct from own)" in found
