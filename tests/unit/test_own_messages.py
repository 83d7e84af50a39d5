"""Prompts of rows that ask by messages of their own: their text, their shots, their end."""

from __future__ import annotations

import pytest
from evaluation_toys import write_model
from jobs import job_of

from revocab.device import Checkpoint
from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import encoded_prompt, generate_task
from revocab.evaluation.generation.prompts import PromptJob, build_prompts, layout_of, messages
from revocab.evaluation.inference.chat_prompts import ChatFormat, ChatOptions
from revocab.evaluation.inference.decoding import Output
from revocab.evaluation.inference.engines.transformers import TransformersGenerator
from revocab.evaluation.options import Generating
from revocab.io import write_jsonl
from revocab.training.chat.messages import filled

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def row(number, label="Ответ:"):
    """A row as those of RefalMachine/darumeru are, whose roles are user and bot."""
    said = [{"role": "user", "content": "Текст: {text}\nВопрос: {question}"}]
    said.append({"role": "bot", "content": label})
    inputs = {"text": f"Кот {number}  спит.\n\nПёс {{question}}.", "question": "Кто?"}
    return {"messages": said, "inputs": inputs, "outputs": [{"segment": f"Кот {number}"}],
            "answers": [f"Кот {number}"]}  # fmt: skip


def built(tmp_path, test=None, **changes):
    """Queries 0 and 1, shots 5 to 7, which have their answers."""
    write_jsonl(tmp_path / "test.jsonl", test or [row(0), row(1)])
    write_jsonl(tmp_path / "prompt.jsonl", [row(n, f"Ответ: Кот {n}") for n in (5, 6, 7)])
    options = {
        "direction": ["ru"], "shots": 2, "seed": 1, "asked_by": "messages",
        "shot_order": "first", "layout": {"stop": "\n"}, "max_new_tokens": 9,
    } | changes  # fmt: skip
    job = job_of(PromptJob, task="multiq", kind="question_answering", **options)
    return build_prompts(job, [tmp_path / "prompt.jsonl"], [tmp_path / "test.jsonl"])


def question(number):
    return f"Текст: Кот {number}  спит.\n\nПёс {{question}}.\nВопрос: Кто?"


def test_plain_text_is_lines_with_the_first_shot_last(tmp_path):
    first, second = built(tmp_path)
    shots = "".join(f"{question(n)}\nОтвет: Кот {n}\n\n" for n in (6, 5))
    assert first["prompt"] == f"{shots}{question(0)}\nОтвет:"
    assert second["prompt"] == f"{shots}{question(1)}\nОтвет:"
    assert first["references"] == ["Кот 0"] and first["max_new_tokens"] == 9
    assert layout_of(first).end == "\n"


def test_a_conversation_ends_with_the_beginning_of_its_answer(tmp_path):
    first = built(tmp_path, shots=1)[0]
    said = messages(first, turns=True)
    assert [message["role"] for message in said] == ["user", "assistant"] * 2
    assert [message["content"] for message in said] == [
        question(5), "Ответ: Кот 5", question(0), "Ответ:"
    ]  # fmt: skip
    (whole,) = messages(first, turns=False)
    assert whole == {"role": "user", "content": first["prompt"]}


class Silent(TransformersGenerator):
    """An engine that writes nothing, and remembers what it was asked."""

    def generate(self, prompts, max_new_tokens, stop):
        self.asked = ([self.tokenizer.decode(ids) for ids in prompts], max_new_tokens, stop)
        return [Output("", 0, "eos") for _ in prompts]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("chat") / "model"
    return write_model(place, context_length=2048, chat_template=CHATML)


def test_a_template_leaves_the_answer_open_after_its_label(tmp_path, folder):
    engine = Silent(Checkpoint(folder, "cpu", "float32", 2), 2048)
    rows = built(tmp_path, shots=0)
    generate_task(engine, rows, Generating(max_new_tokens=500, context_length=2048))
    (first, _), most, stop = engine.asked
    assert first == f"<s>{question(0)}\nОтвет:" and (most, stop) == (9, "\n")
    engine.chat = ChatFormat(engine.tokenizer, folder, ChatOptions())
    generate_task(engine, rows, Generating(max_new_tokens=500, context_length=2048))
    (first, _), most, stop = engine.asked
    expected = f"<|im_start|>user\n{question(0)}<|im_end|>\n<|im_start|>assistant\nОтвет:"
    assert first == expected and (most, stop) == (9, None)


def test_a_label_of_a_layout_may_begin_the_answer_too(tmp_path, folder):
    layout = {"label_begins_answer": True}
    rows = [{"context": "Кот спит.", "question": f"Кто {n}?", "answers": ["Кот"]} for n in (0, 1)]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    job = job_of(
        PromptJob,
        task="qa",
        kind="question_answering",
        direction=["ru"],
        shots=1,
        seed=1,
        layout=layout,
    )
    first = build_prompts(job, *[[tmp_path / "rows.jsonl"]] * 2)[0]
    passages = [f"Контекст: Кот спит.\nВопрос: Кто {n}?" for n in (1, 0)]
    said = messages(first, turns=True)
    assert [one["content"] for one in said] == [
        passages[0], "Ответ: Кот", passages[1], "Ответ:"
    ]  # fmt: skip
    assert first["prompt"] == f"{passages[0]}\nОтвет: Кот\n\n{passages[1]}\nОтвет:"
    whole, label = messages(first, turns=False)
    assert f"{whole['content']}\n{label['content']}" == first["prompt"]
    engine = Silent(Checkpoint(folder, "cpu", "float32", 2), 2048)
    engine.chat = ChatFormat(engine.tokenizer, folder, ChatOptions())
    assert encoded_prompt(engine, first, 0)[0].endswith(
        f"{passages[1]}<|im_end|>\n<|im_start|>assistant\nОтвет:"
    )


def test_braces_are_names_and_nothing_else():
    said = [{"role": "user", "content": "{{x}} {a} {a.b} {0!r}"}]
    (message,) = filled(said, {"a": "{b}"}, "row 1")
    assert message["content"] == "{x} {b} {a.b} {0!r}"
    with pytest.raises(RevocabError, match=r"row 1: \{b\}: no text 'b' \(known: a\)"):
        filled([{"role": "user", "content": "{b}"}], {"a": ""}, "row 1")


def test_every_row_that_asks_nothing_is_named(tmp_path):
    silent = {**row(0), "messages": [{"role": "bot", "content": "Ответ:"}]}
    unnamed = {**row(0), "inputs": {"text": "a"}}
    with pytest.raises(RevocabError) as caught:
        built(tmp_path, [row(0), silent, unnamed])
    first, second = caught.value.problems
    assert "row 1: messages: nothing is asked" in first
    assert "row 2: messages: {question}: no text 'question' (known: text)" in second
