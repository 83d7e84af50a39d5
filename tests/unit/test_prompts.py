"""Prompts: exact text, seeded shots, sources, and their errors."""

from __future__ import annotations

import pytest
from jobs import job_of
from pydantic import ValidationError

from revocab.errors import RevocabError
from revocab.evaluation.generation.prompts import (
    PromptJob,
    build_prompts,
    layout_of,
    render,
    spread,
)
from revocab.io import write_jsonl
from revocab.training.chat.layout import LayoutOptions

POOL = [{"id": f"p{i}", "it": f"frase {i}", "en": f"sentence {i}"} for i in range(20)]
TEST = [{"id": f"t{i}", "it": f"prova {i}", "en": f"trial {i}"} for i in range(6)]
PASSAGES = [
    {"id": f"s{i}", "title": "T", "context": f"Riga uno.\n\nRiga {i}.",
     "question": f"Quale riga è {i}?", "answers": [f"riga {i}", "un'altra"]}
    for i in range(8)
]  # fmt: skip


@pytest.fixture
def files(tmp_path):
    write_jsonl(tmp_path / "pool.jsonl.gz", POOL)
    write_jsonl(tmp_path / "test.jsonl", TEST)
    write_jsonl(tmp_path / "passages.jsonl", PASSAGES)
    return tmp_path


def translations(files, task="flores_en_it", **changes):
    options = {"shots": 2, "seed": 17, "direction": ["en", "it"]} | changes
    job = job_of(PromptJob, task=task, kind="translation", **options)
    return build_prompts(job, [files / "pool.jsonl.gz"], [files / "test.jsonl"])


def test_translation_prompt_reads_as_table_8(files):
    row = translations(files)[0]
    first, second = row["shots"]
    assert row["prompt"] == (
        "Traduci dall'Inglese all'Italiano\n"
        f"Text: {first['en']}\nTranslation: {first['it']}\n\n"
        f"Text: {second['en']}\nTranslation: {second['it']}\n\n"
        "Text: trial 0\nTranslation:"
    )
    assert row["references"] == ["prova 0"]
    assert row["direction"] == ["en", "it"]


def test_the_instruction_may_stand_before_every_shot_and_the_query(files):
    row = translations(files, repeat_instruction=True)[0]
    first, second = row["shots"]
    assert row["prompt"] == (
        "Traduci dall'Inglese all'Italiano\n"
        f"Text: {first['en']}\nTranslation: {first['it']}\n\n"
        "Traduci dall'Inglese all'Italiano\n"
        f"Text: {second['en']}\nTranslation: {second['it']}\n\n"
        "Traduci dall'Inglese all'Italiano\n"
        "Text: trial 0\nTranslation:"
    )
    assert render(row, 0) == "Traduci dall'Inglese all'Italiano\nText: trial 0\nTranslation:"


#: How ALMA and VocADT lay translations out, whatever the languages.
ENGLISH = {
    "language": "en",
    "instruction": "Translate this from <<source>> to <<target>>:",
    "labels": ["<<source>>", "<<target>>"],
    "between_shots": "\n",
}


def test_a_layout_of_a_task_goes_before_its_kinds(files):
    row = translations(files, layout=ENGLISH, shots=1)[0]
    (shot,) = row["shots"]
    assert row["prompt"] == (
        "Translate this from English to Italian:\n"
        f"English: {shot['en']}\nItalian: {shot['it']}\n"
        "English: trial 0\nItalian:"
    )
    assert row["layout"] == ENGLISH  # so that it can be cut as it was written
    assert render(row, 0) == ("Translate this from English to Italian:\nEnglish: trial 0\nItalian:")
    assert layout_of(row).between_shots == "\n"  # ends an answer


@pytest.mark.parametrize("text", ["{{ 7 * 7 }}", "{0.__class__} %s", "{% include 'x' %}"])
def test_a_layout_is_text_and_no_template(files, text):
    row = translations(files, layout={"instruction": text}, shots=0)[0]
    assert row["prompt"] == f"{text}\nText: trial 0\nTranslation:"


def test_fields_that_a_layout_leaves_out_are_the_kinds(files):
    row = translations(files, layout={"instruction": ""}, shots=0, repeat_instruction=True)[0]
    assert row["prompt"] == "Text: trial 0\nTranslation:"
    row = translations(files, layout={"after_label": " =", "before_text": "\n"}, shots=0)[0]
    assert row["prompt"] == ("Traduci dall'Inglese all'Italiano\nText =\ntrial 0\nTranslation =")


def test_a_layout_in_words_of_a_language_needs_no_file_of_another(files):
    write_jsonl(files / "pool.jsonl.gz", [{"en": "a", "la": "b"}])
    write_jsonl(files / "test.jsonl", [{"en": "c", "la": "d"}])
    own = {"instruction": "Verte in Latinum:", "labels": ["Anglice", "Latine"]}
    row = translations(files, direction=["en", "la"], layout=own, shots=1)[0]
    assert row["prompt"] == "Verte in Latinum:\nAnglice: a\nLatine: b\n\nAnglice: c\nLatine:"


def test_question_prompt_reads_as_table_9_on_single_lines(files):
    passages = [files / "passages.jsonl"]
    job = job_of(
        PromptJob, task="squad_it", kind="question_answering", direction=["it"], shots=1, seed=1
    )
    row = build_prompts(job, passages, passages)[2]
    shot = row["shots"][0]
    assert shot["id"] != "s2"
    assert row["prompt"] == (
        f"Contesto: Riga uno. Riga {shot['id'][1]}.\n"
        f"Domanda: Quale riga è {shot['id'][1]}?\nRisposta: riga {shot['id'][1]}\n\n"
        "Contesto: Riga uno. Riga 2.\nDomanda: Quale riga è 2?\nRisposta:"
    )
    assert row["references"] == ["riga 2", "un'altra"]


def test_questions_are_asked_in_the_languages_words(files):
    passages = [files / "passages.jsonl"]
    job = job_of(PromptJob, task="q", kind="question_answering", direction=["ru"], shots=0, seed=1)
    row = build_prompts(job, passages, passages)[1]
    assert row["prompt"] == "Контекст: Riga uno. Riga 1.\nВопрос: Quale riga è 1?\nОтвет:"


def test_shots_repeat_exactly_and_differ_between_items_tasks_and_seeds(files):
    rows = translations(files)
    assert rows == translations(files)

    def ids(rows):
        return [tuple(shot["id"] for shot in row["shots"]) for row in rows]

    assert len(set(ids(rows))) > 1
    assert all(len(set(one)) == 2 for one in ids(rows))
    assert ids(rows) != ids(translations(files, task="other"))
    assert ids(rows) != ids(translations(files, seed=18))


def test_an_items_shots_do_not_depend_on_the_limit(files):
    whole = {row["id"]: row for row in translations(files)}
    for row in translations(files, limit=3):
        assert row == whole[row["id"]]


def test_limit_spreads_over_the_source():
    rows = [{"id": str(i)} for i in range(10)]
    assert [row["id"] for row in spread(rows, 4)] == ["0", "2", "5", "7"]
    assert spread(rows, None) == rows
    assert spread(rows, 99) == rows


def test_pool_limit_uses_the_first_rows_only(files):
    used = {shot["id"] for row in translations(files, pool_limit=3) for shot in row["shots"]}
    assert used <= {"p0", "p1", "p2"}


def test_render_drops_the_first_shots(files):
    row = translations(files, shots=3)[0]
    assert render(row) == row["prompt"]
    kept = row["shots"][1:]
    assert render(row, 2) == render({**row, "shots": kept})
    assert render(row, 0).count("Text:") == 1
    assert render(row, 0).startswith("Traduci")


def test_rows_with_an_empty_field_are_left_out_aloud(files, capsys):
    write_jsonl(files / "test.jsonl", [*TEST, {"id": "t9", "it": " ", "en": "x"}])
    assert len(translations(files)) == len(TEST)
    assert "left out 1 of 7" in capsys.readouterr().err


def test_squad_answers_as_the_hub_has_them(files):
    row = {**PASSAGES[0], "answers": {"text": ["riga 0"], "answer_start": [4]}}
    write_jsonl(files / "hub.jsonl", [row])
    job = job_of(PromptJob, task="q", kind="question_answering", direction=["it"], shots=1, seed=1)
    built = build_prompts(job, [files / "passages.jsonl"], [files / "hub.jsonl"])
    assert built[0]["references"] == ["riga 0"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"direction": ["en", "la"]}, r"direction en la: translation: .*la\.yaml lacks .*: ar, bg"),
        ({"direction": ["en"]}, "direction: "),
        ({"direction": ["en", "en"]}, "direction: a translation is from one language into another"),
        ({"unit": "sentence"}, "unit: unknown key .*repeat_instruction"),
        ({"shots": 30}, "only 20 other"),
        ({"layout": {"labels": ["Text"]}}, r"layout\.labels: 1 given, 2 needed"),
        ({"layout": {"instruction": "<<greet>>"}}, r"it\.yaml lacks the words greet .*: none\)"),
    ],
)
def test_bad_options_are_named(files, changes, message):
    with pytest.raises(RevocabError, match=message):
        translations(files, **changes)


def test_what_ends_an_answer_is_never_inside_one():
    """Texts are one line each."""
    with pytest.raises(ValidationError, match="only a line break never occurs in them"):
        LayoutOptions(between_shots=" ## ")


def test_missing_field_and_file_are_named(files):
    write_jsonl(files / "test.jsonl", [{"id": "t0", "it": "x"}])
    with pytest.raises(RevocabError, match=r"test\.jsonl, row t0: no field 'en'.*has: id, it"):
        translations(files)
    (files / "test.jsonl").unlink()
    with pytest.raises(RevocabError, match=r"test\.jsonl: no such file"):
        translations(files)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("direction", "suffixes", "begins"),
    [
        (["it", "en"], ("ita_Latn", "eng_Latn"), "Translate from Italian to English\nText: "),
        (["ru", "ar"], ("rus_Cyrl", "arb_Arab"), "ترجم من الروسية إلى العربية\nText: "),
    ],
)
def test_flores(shared_folder, direction, suffixes, begins):
    flores = shared_folder / "data/mt/flores200"
    pool, test = ([flores / f"{part}.{one}.txt" for one in suffixes] for part in ("dev", "devtest"))
    lines = {"kind": "lines", "languages": direction}
    options = {"shots": 5, "seed": 17, "pool": lines, "test": lines}
    rows = build_prompts(
        job_of(PromptJob, task="flores", kind="translation", direction=direction, **options),
        pool,
        test,
    )
    assert len(rows) == len(test[0].read_text("utf-8").split("\n")) - 1
    assert all(row["prompt"].count("\n\n") == 5 for row in rows)
    assert all(row["prompt"].startswith(begins) for row in rows)


@pytest.mark.shared_data
def test_squad_it(shared_folder):
    squad = shared_folder / "data/qa/squad_it"
    options = {"shots": 2, "seed": 17, "limit": 300, "pool_limit": 1000}
    job = job_of(PromptJob, task="squad_it", kind="question_answering", direction=["it"], **options)
    rows = build_prompts(job, [squad / "train.jsonl.gz"], [squad / "test.jsonl.gz"])
    assert len(rows) == 300
    assert all(row["prompt"].count("\n\n") == 2 for row in rows)
