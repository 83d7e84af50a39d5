"""Conversations as data sets publish them: roles, ShareGPT's keys, rows by their scores."""

from __future__ import annotations

import pytest

from revocab.corpora.answers.answer import read_dialogues
from revocab.corpora.answers.options import AnswerJob
from revocab.corpora.prepare import CorpusJob, prepare_corpus
from revocab.corpora.read import documents
from revocab.errors import RevocabError
from revocab.evaluation.generation.kinds.instructions import checked_row
from revocab.io import write_jsonl
from revocab.training.chat.messages import usual_roles

SOURCE = {"label": "saiga"}
KEEP = {"opus_score": {"min": 8}, "is_bad_by_regex": {"one_of": [False]}}


def job(**options) -> CorpusJob:
    return CorpusJob(corpus="saiga", language="ru", messages_field="messages", **options)


def asked(number: int, asks: str = "user", answers: str = "bot") -> list[dict]:
    """Return a question and its answer."""
    return [
        {"role": asks, "content": f"Кто {number}?"}, {"role": answers, "content": f"Это {number}."}
    ]  # fmt: skip


def row(number: int, score: int | None = 9, bad: bool = False) -> dict:
    """Return a row with the fields of ``IlyaGusev/saiga_scored``."""
    return {"messages": asked(number), "opus_score": score, "is_bad_by_regex": bad}


@pytest.mark.parametrize("name", [name for name, role in usual_roles().items() if role == "user"])
@pytest.mark.parametrize(
    "answers", [name for name, role in usual_roles().items() if role == "assistant"]
)
def test_usual_names_of_roles_are_known(tmp_path, name, answers):
    prepare_corpus([{"messages": asked(1, name, answers)}], SOURCE, job(), tmp_path)
    (document,) = documents(tmp_path)
    assert [message["role"] for message in document["messages"]] == ["user", "assistant"]


def test_sharegpt_names_the_keys_otherwise(tmp_path):
    shared = [{"from": "human", "value": "Кто?"}, {"from": "gpt", "value": "Лора."}]
    prepare_corpus([{"messages": shared}], SOURCE, job(), tmp_path)
    (document,) = documents(tmp_path)
    assert document["messages"] == [
        {"role": "user", "content": "Кто?"}, {"role": "assistant", "content": "Лора."}
    ]  # fmt: skip


def test_an_unknown_role_is_named_with_its_count_and_a_row(tmp_path):
    rows = [row(1), *({"messages": asked(n, answers="teacher")} for n in range(3))]
    rows.append({"messages": asked(9, asks="pupil")})
    with pytest.raises(RevocabError) as error:
        prepare_corpus(rows, SOURCE, job(), tmp_path / "out")
    teacher, pupil = error.value.problems
    assert "row 2" in teacher and "'teacher' of 3 messages" in teacher
    assert "row 5" in pupil and "--message-roles pupil=" in pupil
    assert not (tmp_path / "out").exists()


def test_a_role_can_be_given(tmp_path):
    options = job(message_roles={"teacher": "assistant"})
    manifest = prepare_corpus(
        [{"messages": asked(1, answers="teacher")}], SOURCE, options, tmp_path
    )
    assert manifest["train"]["documents"] == 1
    assert manifest["message_roles"] == {"teacher": "assistant"}


def test_rows_are_kept_by_their_fields_as_the_release_of_saiga_does(tmp_path):
    rows = [row(1), row(2, score=7), row(3, score=8), row(4, bad=True), row(5, score=None)]
    manifest = prepare_corpus(rows, SOURCE, job(keep=KEEP), tmp_path)
    kept = [document["messages"][0]["content"] for document in documents(tmp_path)]
    assert kept == ["Кто 1?", "Кто 3?", "Кто 5?"]
    assert manifest["skipped"]["not kept"] == 2
    assert manifest["keep"]["opus_score"]["min"] == 8


WRONG_CONDITIONS = {
    "a field that no row has": ({"opus": {"min": 8}}, "no row has a field 'opus'"),
    "text with an order": ({"messages": {"min": 8}}, "'messages': a list, expected a number"),
}


@pytest.mark.parametrize("case", WRONG_CONDITIONS)
def test_conditions_that_fit_no_row_are_refused(tmp_path, case):
    keep, said = WRONG_CONDITIONS[case]
    with pytest.raises(RevocabError, match=said):
        prepare_corpus([row(1)], SOURCE, job(keep=keep), tmp_path / "out")


@pytest.mark.parametrize("keep", [{"score": {}}, {"score": {"one_of": []}}, {"score": {"at": 1}}])
def test_a_condition_says_something(keep):
    with pytest.raises(ValueError, match="score"):
        job(keep=keep)


def test_own_answers_replace_the_reference_answer(tmp_path):
    file = tmp_path / "saiga.jsonl"
    write_jsonl(file, [row(1), row(2, score=1), row(3)])
    dialogues = read_dialogues(AnswerJob(keep=KEEP, limit=2), [file])
    assert [dialogue.turns for dialogue in dialogues] == [
        [[{"role": "user", "content": "Кто 1?"}]], [[{"role": "user", "content": "Кто 3?"}]]
    ]  # fmt: skip


def test_evaluated_instructions_know_the_roles_too():
    checked = checked_row({"messages": asked(1), "checks": {"contains": "1"}}, "saiga")
    assert checked["messages"][-1]["role"] == "assistant"
