"""Prompts: exact text of layouts and of rows' own messages, seeded shots, sources, errors."""

from __future__ import annotations

import pytest
from evaluation_toys import write_model
from jobs import job_of
from test_chat_prompts import CHATML

from revocab.device import Checkpoint
from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import encoded_prompt, generate_task
from revocab.evaluation.generation.prompts import (
    PromptJob,
    build_prompts,
    layout_of,
    messages,
    render,
    spread,
)
from revocab.evaluation.inference.chat_prompts import ChatFormat, ChatOptions
from revocab.evaluation.inference.decoding import Output
from revocab.evaluation.inference.engines.transformers import TransformersGenerator
from revocab.evaluation.options import Generating
from revocab.io import write_jsonl
from revocab.training.chat.messages import filled

POOL = [{"id": f"p{i}", "it": f"frase {i}", "en": f"sentence {i}"} for i in range(20)]
TEST = [{"id": f"t{i}", "it": f"prova {i}", "en": f"trial {i}"} for i in range(6)]
PASSAGES = [
    {"id": f"s{i}", "title": "T", "context": f"Riga uno.\n\nRiga {i}.",
     "question": f"Quale riga è {i}?", "answers": [f"riga {i}", "un'altra"]}
    for i in range(8)
]  # fmt: skip
INSTRUCTION = "Traduci dall'Inglese all'Italiano"


def prompts_of(folder, kind, test, pool=None, **options):
    """Return the prompts of rows, and of shots of others."""
    write_jsonl(folder / "test.jsonl", test)
    write_jsonl(folder / "pool.jsonl.gz", pool or test)
    values = {"task": "task", "shots": 0, "seed": 17, "direction": ["it"], **options}
    job = job_of(PromptJob, kind=kind, **values)
    return build_prompts(job, [folder / "pool.jsonl.gz"], [folder / "test.jsonl"])


def translations(folder, test=TEST, pool=POOL, **changes):
    options = {"task": "flores_en_it", "shots": 2, "direction": ["en", "it"]} | changes
    return prompts_of(folder, "translation", test, pool, **options)


# Layouts ------------------------------------------------------------------------------------------

#: How ALMA and VocADT lay translations out, whatever the languages.
ENGLISH = {
    "language": "en",
    "instruction": "Translate this from <<source>> to <<target>>:",
    "labels": ["<<source>>", "<<target>>"],
    "between_shots": "\n",
}
#: Changes of a translation task, and its first prompt, with #0 and #1 for the shots' numbers.
TRANSLATED = [
    (
        {},  # as Table 8 of SAVA has it
        f"{INSTRUCTION}\nText: sentence #0\nTranslation: frase #0\n\n"
        "Text: sentence #1\nTranslation: frase #1\n\nText: trial 0\nTranslation:",
    ),
    (
        {"repeat_instruction": True},
        f"{INSTRUCTION}\nText: sentence #0\nTranslation: frase #0\n\n"
        f"{INSTRUCTION}\nText: sentence #1\nTranslation: frase #1\n\n"
        f"{INSTRUCTION}\nText: trial 0\nTranslation:",
    ),
    (
        {"layout": ENGLISH, "shots": 1},
        "Translate this from English to Italian:\nEnglish: sentence #0\nItalian: frase #0\n"
        "English: trial 0\nItalian:",
    ),
    # A layout is text and no template.
    *(
        ({"layout": {"instruction": text}, "shots": 0}, f"{text}\nText: trial 0\nTranslation:")
        for text in ("{{ 7 * 7 }}", "{0.__class__} %s", "{% include 'x' %}")
    ),
    # What it leaves out is the kind's.
    ({"layout": {"instruction": ""}, "shots": 0, "repeat_instruction": True},
     "Text: trial 0\nTranslation:"),
    ({"layout": {"after_label": " =", "before_text": "\n"}, "shots": 0},
     f"{INSTRUCTION}\nText =\ntrial 0\nTranslation ="),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), TRANSLATED)
def test_translation_prompts_read_as_their_layout_says(tmp_path, changes, expected):
    row = translations(tmp_path, **changes)[0]
    for place, shot in enumerate(row["shots"]):
        expected = expected.replace(f"#{place}", shot["id"][1:])
    assert row["prompt"] == expected
    assert (row["references"], row["direction"]) == (["prova 0"], ["en", "it"])
    # It can be cut as it was written: the first shots go first.
    assert render(row) == row["prompt"]
    for shots in range(len(row["shots"])):
        last = row["shots"][len(row["shots"]) - shots :]
        assert render(row, shots) == render({**row, "shots": last})
    assert layout_of(row).end == changes.get("layout", {}).get("between_shots", "\n\n")


def test_a_layout_in_words_of_a_language_needs_no_file_of_another(tmp_path):
    rows = [{"en": "c", "la": "d"}], [{"en": "a", "la": "b"}]
    own = {"instruction": "Verte in Latinum:", "labels": ["Anglice", "Latine"]}
    row = translations(tmp_path, *rows, direction=["en", "la"], layout=own, shots=1)[0]
    assert row["prompt"] == "Verte in Latinum:\nAnglice: a\nLatine: b\n\nAnglice: c\nLatine:"


def test_question_prompts_read_as_table_9_on_single_lines(tmp_path):
    row = prompts_of(tmp_path, "question_answering", PASSAGES, shots=1)[2]
    shot = row["shots"][0]["id"][1:]
    assert shot != "2"
    assert row["prompt"] == (
        f"Contesto: Riga uno. Riga {shot}.\nDomanda: Quale riga è {shot}?\n"
        f"Risposta: riga {shot}\n\n"
        "Contesto: Riga uno. Riga 2.\nDomanda: Quale riga è 2?\nRisposta:"
    )
    assert row["references"] == ["riga 2", "un'altra"]
    # In the language's words; answers as the Hub has them.
    hub = {**PASSAGES[0], "answers": {"text": ["riga 0"], "answer_start": [4]}}
    (row,) = prompts_of(tmp_path, "question_answering", [hub], direction=["ru"])
    assert row["prompt"] == "Контекст: Riga uno. Riga 0.\nВопрос: Quale riga è 0?\nОтвет:"
    assert row["references"] == ["riga 0"]


def test_shots_repeat_exactly_and_differ_between_items_tasks_and_seeds(tmp_path):
    rows = translations(tmp_path)
    assert rows == translations(tmp_path)

    def ids(rows):
        return [tuple(shot["id"] for shot in row["shots"]) for row in rows]

    assert len(set(ids(rows))) > 1
    assert all(len(set(shots)) == 2 for shots in ids(rows))
    assert ids(rows) != ids(translations(tmp_path, task="other"))
    assert ids(rows) != ids(translations(tmp_path, seed=18))
    assert translations(tmp_path, limit=3) == rows[::2]  # whatever the limit
    limited = ids(translations(tmp_path, pool_limit=3))
    assert {shot for shots in limited for shot in shots} <= {"p0", "p1", "p2"}


def test_limit_spreads_over_the_source():
    rows = [{"id": str(i)} for i in range(10)]
    assert [row["id"] for row in spread(rows, 4)] == ["0", "2", "5", "7"]
    assert spread(rows, None) == spread(rows, 99) == rows


def test_rows_with_an_empty_field_are_left_out_aloud(tmp_path, capsys):
    rows = translations(tmp_path, [*TEST, {"id": "t9", "it": " ", "en": "x"}])
    assert len(rows) == len(TEST)
    assert "1 of 7" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"direction": ["en", "la"]}, r"direction en la: translation: .*la\.yaml"),
        ({"direction": ["en"]}, "direction: "),
        ({"direction": ["en", "en"]}, "direction: "),
        ({"unit": "sentence"}, "unit: unknown key .*repeat_instruction"),
        ({"shots": 30}, "only 20 other"),
        ({"layout": {"labels": ["Text"]}}, r"layout\.labels: 1 given, 2 needed"),
        ({"layout": {"between_shots": " ## "}}, r"between_shots: "),  # might stand in an answer
        ({"layout": {"instruction": "<<greet>>"}}, r"it\.yaml .*greet"),
        ({"test": [{"id": "t0", "it": "x"}]}, r"test\.jsonl, row t0: no field 'en'.*: id, it"),
    ],
)
def test_bad_options_and_rows_are_named(tmp_path, changes, message):
    with pytest.raises(RevocabError, match=message):
        translations(tmp_path, **changes)


# Rows that ask by messages of their own -----------------------------------------------------------


def own_row(number, label="Ответ:"):
    """A row as those of RefalMachine/darumeru are, whose roles are user and bot."""
    asking = [{"role": "user", "content": "Текст: {text}\nВопрос: {question}"}]
    asking.append({"role": "bot", "content": label})
    inputs = {"text": f"Кот {number}  спит.\n\nПёс {{question}}.", "question": "Кто?"}
    return {"messages": asking, "inputs": inputs, "outputs": [{"segment": f"Кот {number}"}],
            "answers": [f"Кот {number}"]}  # fmt: skip


def own_prompts(tmp_path, test=None, **changes):
    """Queries 0 and 1, shots 5 to 7, which have their answers."""
    options = {
        "direction": ["ru"], "shots": 2, "asked_by": "messages", "shot_order": "first",
        "layout": {"stop": "\n"}, "max_new_tokens": 9,
    } | changes  # fmt: skip
    pool = [own_row(n, f"Ответ: Кот {n}") for n in (5, 6, 7)]
    test = test or [own_row(0), own_row(1)]
    return prompts_of(tmp_path, "question_answering", test, pool, **options)


def question(number):
    return f"Текст: Кот {number}  спит.\n\nПёс {{question}}.\nВопрос: Кто?"


def test_own_messages_are_lines_with_the_first_shot_last_or_a_conversation(tmp_path):
    first, second = own_prompts(tmp_path)
    shots = "".join(f"{question(n)}\nОтвет: Кот {n}\n\n" for n in (6, 5))
    assert first["prompt"] == f"{shots}{question(0)}\nОтвет:"
    assert second["prompt"] == f"{shots}{question(1)}\nОтвет:"
    assert first["references"] == ["Кот 0"] and first["max_new_tokens"] == 9
    assert layout_of(first).end == "\n"
    # As a conversation it ends with the beginning of its answer.
    turns = messages(first, 1, turns=True)
    assert [(message["role"], message["content"]) for message in turns] == [
        ("user", question(5)), ("assistant", "Ответ: Кот 5"),
        ("user", question(0)), ("assistant", "Ответ:"),
    ]  # fmt: skip
    assert messages(first, turns=False) == [{"role": "user", "content": first["prompt"]}]


class Silent(TransformersGenerator):
    """An engine that writes nothing, and remembers its prompts."""

    def generate(self, prompts, max_new_tokens, stop):
        self.calls = ([self.tokenizer.decode(ids) for ids in prompts], max_new_tokens, stop)
        return [Output("", 0, "eos") for _ in prompts]


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chat") / "model"
    write_model(folder, context_length=2048, chat_template=CHATML)
    return Silent(Checkpoint(folder, "cpu", "float32", 2), 2048)


@pytest.fixture
def chat_engine(engine, monkeypatch):
    chat = ChatFormat(engine.tokenizer, engine.tokenizer.name_or_path, ChatOptions())
    monkeypatch.setattr(engine, "chat", chat)
    return engine


OPTIONS = Generating(max_new_tokens=500, context_length=2048)


def test_plain_text_goes_on_after_the_label_up_to_the_stop(tmp_path, engine):
    generate_task(engine, own_prompts(tmp_path, shots=0), OPTIONS)
    (first, _), most, stop = engine.calls
    assert (first, most, stop) == (f"<s>{question(0)}\nОтвет:", 9, "\n")


def test_a_template_leaves_the_answer_open_after_its_label(tmp_path, chat_engine):
    generate_task(chat_engine, own_prompts(tmp_path, shots=0), OPTIONS)
    (first, _), most, stop = chat_engine.calls
    expected = f"<|im_start|>user\n{question(0)}<|im_end|>\n<|im_start|>assistant\nОтвет:"
    assert (first, most, stop) == (expected, 9, None)


def test_a_label_of_a_layout_may_begin_the_answer_too(tmp_path, chat_engine):
    rows = [{"context": "Кот спит.", "question": f"Кто {n}?", "answers": ["Кот"]} for n in (0, 1)]
    options = {"direction": ["ru"], "shots": 1, "layout": {"label_begins_answer": True}}
    first = prompts_of(tmp_path, "question_answering", rows, **options)[0]
    passages = [f"Контекст: Кот спит.\nВопрос: Кто {n}?" for n in (1, 0)]
    turns = [message["content"] for message in messages(first, turns=True)]
    assert turns == [passages[0], "Ответ: Кот", passages[1], "Ответ:"]
    assert first["prompt"] == f"{passages[0]}\nОтвет: Кот\n\n{passages[1]}\nОтвет:"
    whole, label = messages(first, turns=False)
    assert f"{whole['content']}\n{label['content']}" == first["prompt"]
    assert encoded_prompt(chat_engine, first, 0)[0].endswith(
        f"{passages[1]}<|im_end|>\n<|im_start|>assistant\nОтвет:"
    )


def test_braces_are_names_and_nothing_else():
    asking = [{"role": "user", "content": "{{x}} {a} {a.b} {0!r}"}]
    (message,) = filled(asking, {"a": "{b}"}, "row 1")
    assert message["content"] == "{x} {b} {a.b} {0!r}"
    with pytest.raises(RevocabError, match=r"row 1: \{b\}: .*known: a"):
        filled([{"role": "user", "content": "{b}"}], {"a": ""}, "row 1")


def test_every_row_that_asks_nothing_is_named(tmp_path):
    silent = {**own_row(0), "messages": [{"role": "bot", "content": "Ответ:"}]}
    unnamed = {**own_row(0), "inputs": {"text": "a"}}
    with pytest.raises(RevocabError) as caught:
        own_prompts(tmp_path, [own_row(0), silent, unnamed])
    first, second = caught.value.problems
    assert "row 1: messages: " in first
    assert "row 2: messages: {question}: " in second
