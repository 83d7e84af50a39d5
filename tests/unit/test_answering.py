"""A model's own answers, and judges of them: by hand, with real pico models, and by flags."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from evaluation_toys import write_model
from jobs import job_of

from revocab.corpora.answers.answer import Dialogue, answer_all, judge_folder, read_dialogues, turns
from revocab.corpora.answers.judges.llm import grade
from revocab.corpora.answers.options import AnswerJob, JudgeInputs, JudgeJob, judges
from revocab.corpora.prepare import CorpusJob, prepare
from revocab.errors import RevocabError
from revocab.evaluation.inference.decoding import Output
from revocab.evaluation.options import AnswerHardware
from revocab.evaluation.records import Records
from revocab.io import read_json, read_jsonl, write_jsonl
from revocab.training.chat.template import find_template

CHATML = find_template("chatml").read_text(encoding="utf-8")
MACHINE = AnswerHardware(device="cpu")


def said(*texts, system=False):
    """Return messages, questions and answers in turn."""
    roles = ["system"] * system + ["user", "assistant"] * len(texts)
    return [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]


def contents(row):
    return [one["content"] for one in row["messages"]]


# Answering ----------------------------------------------------------------------------------------


def test_turns_by_hand():
    with_system = said("s", "q1", "a1", "q2", "a2", system=True)
    found = [[one["content"] for one in part] for part in turns(with_system)]
    assert found == [["s", "q1"], ["q2"]]
    assert [len(part) for part in turns(said("q1", "a1", "q2"))] == [1, 1]
    assert turns(said("q")) == [said("q")]
    assert turns([{"role": "assistant", "content": "a"}]) == []


class Scripted:
    """Stands for a loaded model: its template lists contents, and answers come from a list."""

    room = 91

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []
        self.chat = self

    def text(self, messages):
        return "|".join(one["content"] for one in messages)

    def encode(self, text):
        return list(range(len(text)))

    def special_tokens(self, ids):
        return {"template_end": True, "other_special_tokens": 0}

    def generate(self, prompts):
        self.asked.append([len(prompt) for prompt in prompts])
        return [self.answers.pop(0) for _ in prompts]


def test_a_model_reads_its_own_earlier_answers_and_a_cut_one_is_its_last():
    first = Dialogue("1", turns(said("a?", "old", "b?", "old")))
    second = Dialogue("2", turns(said("cc?", "old", "d?", "old")))
    third = Dialogue("3", turns(said("e" * 99, "old")))
    model = Scripted(Output("yes", 2, "eos"), Output("no end", 9, "length"), Output("", 1, "eos"))
    assert answer_all(model, [first, second, third]) == 1
    assert contents(vars(first)) == ["a?", "yes", "b?", ""]
    assert contents(vars(second)) == ["cc?", "no end"]
    assert not third.answers
    # The second round asks the first conversation alone, its own answer included.
    assert model.asked == [[len("a?"), len("cc?")], [len("a?|yes|b?")]]
    assert [one["finish_reason"] for one in second.answers] == ["length"]


def test_questions_that_are_none_are_told(tmp_path):
    write_jsonl(tmp_path / "a.jsonl", [{"id": "1", "talk": said("q")}])
    write_jsonl(tmp_path / "b.jsonl", [{"id": "1", "messages": []}])
    with pytest.raises(RevocabError, match=r"row 1: no field 'messages'; .* --messages-field"):
        read_dialogues(AnswerJob(), [tmp_path / "a.jsonl"])
    with pytest.raises(RevocabError, match="nothing is asked"):
        read_dialogues(AnswerJob(), [tmp_path / "b.jsonl"])
    (found,) = read_dialogues(AnswerJob(messages_field="talk"), [tmp_path / "a.jsonl"])
    assert found.turns == [said("q")]


@pytest.fixture(scope="module")
def chat_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chat") / "model"
    return write_model(folder, context_length=512, chat_template=CHATML)


@pytest.fixture(scope="module")
def answered(chat_model, tmp_path_factory):
    """The folder of a pico model's answers, made by the command."""
    from revocab.__main__ import main

    folder = tmp_path_factory.mktemp("answers")
    rows = [
        {"id": f"c{n}", "messages": said(f"Chi vende il pane {n}?", "nessuno", "e poi?"),
         "checks": {"words_at_most": 2}}
        for n in range(4)
    ]  # fmt: skip
    write_jsonl(folder / "questions.jsonl", rows)
    main([
        "answer", "--model", str(chat_model), "--files", str(folder / "questions.jsonl"),
        "--engine", "transformers", "--max-new-tokens", "6", "--context-length", "256",
        "--limit", "3", "--device", "cpu", "--out", str(folder / "out"),
    ])  # fmt: skip
    return folder / "out"


def test_a_model_answers_as_generation_does(answered, chat_model):
    """The first answer is the greedy one to the question that the template writes."""
    from revocab.evaluation.generation.generate import load_generator
    from revocab.evaluation.inference.chat_prompts import ChatOptions
    from revocab.evaluation.inference.engine import choose_engine
    from revocab.evaluation.options import Generating

    rows = list(read_jsonl(answered / "conversations.jsonl.gz"))
    assert [row["id"] for row in rows] == ["c0", "c1", "c2"]
    options = Generating(device="cpu", chat=ChatOptions())
    model = load_generator(chat_model, choose_engine("transformers", "generation"), options)
    prompt = model.chat.encode(model.chat.text(said("Chi vende il pane 1?")))
    (wanted,) = model.generate([prompt], 6, None)
    assert rows[1]["messages"][:2] == said("Chi vende il pane 1?", wanted.text)
    assert rows[1]["answers"][0]["finish_reason"] == wanted.finish_reason
    assert rows[1]["checks"] == {"words_at_most": 2}
    told = read_json(answered / "manifest.json")
    assert told["conversations"] == 3 and told["prompts_too_long"] == 0
    assert told["answers"] == sum(len(row["answers"]) for row in rows)


# Judges -------------------------------------------------------------------------------------------


def row(number, *texts, reason="eos", other=0, **more):
    ended = {"finish_reason": reason, "other_special_tokens": other}
    return {"id": str(number), "messages": said(*texts), "answers": [ended], **more}


ROWS = [
    row(0, "q", "Il pane è buono."),
    row(1, "q", "Il pane", reason="length"),
    row(2, "q", "Il pane è di qui", other=1),
    row(3, "q", "The bread is good and the cat is here."),
    row(4, "q", "Il pane è buono. E la città è sveglia.", checks={"sentences": 1}),
]


def verdicts(kind, rows, **options):
    """Return a judge's verdicts, with records that no other call reads."""
    judge = judges()[kind]
    with TemporaryDirectory() as folder:
        inputs = JudgeInputs(options.pop("model", None), MACHINE, Records(Path(folder)))
        return list(judge.judge(rows, job_of(JudgeJob, kind=judge.name, **options), inputs))


def test_rules_by_hand():
    assert [one.reason for one in verdicts("rule", ROWS, checks={"language": "it"})] == [
        "", "ended", "ended", "language", "sentences",
    ]  # fmt: skip
    assert [one.kept for one in verdicts("rule", ROWS, ended=False, own_checks=False)] == [True] * 5


def test_rules_that_are_none_are_told():
    with pytest.raises(RevocabError, match=r"checks: .* no check 'sentence' .*sentences"):
        job_of(JudgeJob, kind="rule", checks={"sentence": 1})
    with pytest.raises(RevocabError, match=r"sorted: unknown key"):
        job_of(JudgeJob, kind="rule", sorted=1)
    with pytest.raises(RevocabError, match=r"kind: no kind 'rules' \(known: llm, rule\)"):
        job_of(JudgeJob, kind="rules")
    plain = {"id": "7", "messages": said("q", "a")}
    with pytest.raises(RevocabError, match="row 7: does not say how its answers ended"):
        verdicts("rule", [plain])
    assert verdicts("rule", [plain], ended=False)[0].kept


def test_what_is_kept_becomes_a_corpus(answered, tmp_path):
    from revocab.__main__ import main

    conversations = answered / "conversations.jsonl.gz"
    main([
        "judge", "rule", "--conversations", str(conversations), "--no-ended", "--no-own-checks",
        "--out", str(tmp_path / "judged"),
    ])  # fmt: skip
    assert read_json(tmp_path / "judged" / "manifest.json")["kept"] == 3
    kept = tmp_path / "judged" / "conversations.jsonl.gz"
    assert list(read_jsonl(kept)) == list(read_jsonl(conversations))
    job = CorpusJob(corpus="own", language="it", messages_field="messages")
    manifest = prepare([kept], job, tmp_path / "corpus")
    assert manifest["train"]["documents"] == 3


def test_an_empty_answer_is_left_out_and_one_that_is_missing_is_an_error(tmp_path):
    path = tmp_path / "rows.jsonl"
    write_jsonl(path, [row(0, "q", " "), ROWS[0] | {"id": "1"}])
    judge_folder(path, None, job_of(JudgeJob, kind="rule"), MACHINE, tmp_path / "out")
    manifest = read_json(tmp_path / "out/manifest.json")
    assert manifest["kept"] == 1 and manifest["left_out"] == {"empty answer": 1}
    assert [one["id"] for one in read_jsonl(tmp_path / "out/conversations.jsonl.gz")] == ["1"]
    write_jsonl(path, [{"id": "0", "messages": said("q")}])
    with pytest.raises(RevocabError, match="row 0: no answer in 'messages'; answer it first"):
        judge_folder(path, None, job_of(JudgeJob, kind="rule"), MACHINE, tmp_path / "other")


def test_a_judge_that_keeps_none_is_an_error(tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", ROWS[1:3])
    job = job_of(JudgeJob, kind="rule")
    with pytest.raises(RevocabError, match=r"keeps none of 2 conversations \(ended: 2\)"):
        judge_folder(tmp_path / "rows.jsonl", None, job, MACHINE, tmp_path / "out")
    with pytest.raises(RevocabError, match="judge 'rule' uses no --model"):
        judge_folder(tmp_path / "rows.jsonl", tmp_path / "model", job, MACHINE, tmp_path / "out")
    job = job_of(JudgeJob, kind="llm")
    with pytest.raises(RevocabError, match="judge 'llm' needs a model that judges"):
        judge_folder(tmp_path / "rows.jsonl", None, job, MACHINE, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("4", 4),
        (" Grade: 5/5", 5),
        ("I would say 3.", 3),
        ("10", None),
        ("0", None),
        ("good", None),
    ],
)
def test_grades_by_hand(answer, wanted):
    assert grade(answer) == wanted


def test_a_chat_model_is_asked_for_grades(chat_model, monkeypatch):
    """Its pico weights write no numbers; with some planted, they decide."""
    asked = {"model": chat_model, "engine": "transformers"}
    found = verdicts("llm", ROWS, **asked, max_new_tokens=2, context_length=512)
    assert {one.reason for one in found} <= {"no grade", "low grade", ""}
    from revocab.evaluation.inference.engines.transformers import TransformersGenerator

    answers = [contents(row)[-1] for row in ROWS]
    grades = dict(zip(answers, ["5", "3", "4.", "none", "1"], strict=True))

    def graded(self, prompts, *_):
        texts = [self.tokenizer.decode(prompt) for prompt in prompts]
        said = [next(one for one in grades if f"Assistant: {one}\n" in text) for text in texts]
        return [Output(grades[one], 1, "eos") for one in said]

    monkeypatch.setattr(TransformersGenerator, "generate", graded)
    found = verdicts("llm", ROWS, **asked, context_length=512)
    assert [one.kept for one in found] == [True, False, True, False, False]
    assert [one.score for one in found] == [5.0, 3.0, 4.0, None, 1.0]
    assert verdicts("llm", ROWS[:1], **asked, context_length=16)[0].reason == "too long"
