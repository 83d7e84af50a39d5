"""Kinds of generation tasks, languages and metrics: one file and one place for each."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revocab import languages as language_data
from revocab.demoworld.build import asked, translated
from revocab.errors import RevocabError
from revocab.evaluation.generation.kind import (
    find_kind,
)
from revocab.evaluation.generation.prompts import prompt_row, render
from revocab.languages import fill, languages, words_of
from revocab.training.chat.layout import Layout

PLAIN = {"question", "context", "answer", "text", "copy", "copied", "translate"}


# Kinds -------------------------------------------------------------------------------------------


def test_the_demo_world_writes_as_prompts_read():
    """Stand-ins learn the forms that they are asked in; its texts have a copy of the words."""
    pair = {"id": "0", "it": "Piove.", "en": "It rains."}
    for direction in (["en", "it"], ["it", "en"]):
        row = prompt_row("translation", direction, pair, [])
        written = translated(pair, "-".join(direction))
        assert written == f"{row['prompt']} {pair[direction[1]]}"
    passage = {"id": "0", "context": "Piove.", "question": "Piove?", "answers": ["sì"]}
    for language in ("it", "en"):
        prompt = prompt_row("question_answering", [language], passage, [])["prompt"]
        assert asked(passage, language, "sì") == f"{prompt} sì"


ONE_LINE = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=9)


@given(st.lists(st.tuples(ONE_LINE, ONE_LINE), min_size=1, max_size=4), st.booleans())
def test_a_prompt_can_be_read_back(pairs, instructed):
    """Blocks, lines and labels are where the separators are, whatever the texts say."""
    layout = Layout(labels=("A", "B"), instruction="Do." if instructed else "", after_label="\t=")
    *shots, query = pairs
    text = layout.prompt(shots, query)
    if instructed:
        first, _, text = text.partition("\n")
        assert first == "Do."
    blocks = [block.split("\n") for block in text.split("\n\n")]
    assert blocks[-1] == [f"A\t= {query[0]}", "B\t="]
    assert [tuple(line[4:] for line in block) for block in blocks[:-1]] == shots


# Languages ---------------------------------------------------------------------------------------


def test_every_language_has_the_words_of_every_kind():
    for language in languages():
        assert set(words_of(language)) >= PLAIN, language
        for name in ("question_answering", "copying"):
            layout = find_kind(name).layout_in([language])
            assert "<<" not in f"{layout}", language


def test_translation_works_between_any_two_languages():
    instructions = set()
    for direction in permutations(languages(), 2):
        layout = find_kind("translation").layout_in(direction)
        assert layout.labels == ("Text", "Translation")
        assert "<<" not in layout.instruction
        instructions.add(layout.instruction)
    assert len(instructions) == len(languages()) * (len(languages()) - 1)


@pytest.mark.parametrize(
    ("direction", "instruction"),
    [
        (["en", "it"], "Traduci dall'Inglese all'Italiano"),
        (["ru", "it"], "Traduci dal Russo all'Italiano"),
        (["sw", "it"], "Traduci dallo Swahili all'Italiano"),
        (["it", "en"], "Translate from Italian to English"),
        (["ht", "en"], "Translate from Haitian Creole to English"),
        (["en", "ru"], "Переведи с английского на русский"),
        (["en", "ko"], "영어를 한국어로 번역하세요"),
        (["it", "et"], "Tõlgi itaalia keelest eesti keelde"),
        (["en", "ar"], "ترجم من الإنجليزية إلى العربية"),
    ],
)
def test_instructions_of_translation(direction, instruction):
    query = {"id": "0", **dict.fromkeys(direction, "x")}
    row = prompt_row("translation", direction, query, [])
    assert render(row) == f"{instruction}\nText: x\nTranslation:"


def test_words_in_words_are_filled_too():
    assert fill(["<<translate>>!", "x"], "it", {"source": "from_ru"}) == [
        "Traduci dal Russo all'Italiano!",
        "x",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            "name: Latin\nwords: {answer: no}",
            "la.yaml.words.answer: ",
        ),
        ("name: Latin\nword: {}", r"la.yaml.word: unknown key .*did you mean 'words'"),
        ("words: {}", r"la.yaml.name: required and not given"),
        ("name: Latin\nwords:\n  copy: a\n  copy: b", "words.copy: is on line 3 and again on"),
    ],
)
def test_a_wrong_language_file_is_named(tmp_path, monkeypatch, content, problem):
    (tmp_path / "la.yaml").write_text(content, encoding="utf-8")
    monkeypatch.setattr(language_data, "FOLDER", tmp_path)
    languages.cache_clear()
    try:
        with pytest.raises(RevocabError, match=problem):
            languages()
    finally:
        languages.cache_clear()
