"""Text without letters of other scripts and without emoji."""

from __future__ import annotations

import pytest

from revocab.corpora.documents import CorpusJob
from revocab.corpora.prepare import prepare_corpus
from revocab.corpora.read import texts
from revocab.corpora.scripts import commonest_script, is_written_in, outside

RUSSIAN = ("Cyrillic", "Latin")
CASES = {
    "both scripts, digits and signs stay": ("Ещё №1: «café» — 5 € ©™", "Ещё №1: «café» — 5 € ©™"),
    "combining accents stay": ("е\u0308 e\u0301", "е\u0308 e\u0301"),
    "other letters go": ("мир 世界 κόσμος عالم", "мир   "),
    "an emoji goes": ("да👍нет", "данет"),
    "with its colour": ("да👍🏽нет", "данет"),
    "and a family of them": ("да👨‍👩‍👧нет", "данет"),
    "flags": ("🇷🇺🇮🇹 да", " да"),
    "a heart as a picture": ("❤️да", "да"),
    "a sign as a picture": ("©️ ©", " ©"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_stays(case):
    text, kept = CASES[case]
    assert outside(tuple(RUSSIAN)).sub("", text) == kept


def test_a_corpus_in_two_scripts(tmp_path):
    job = CorpusJob(corpus="c", language="ru", scripts=RUSSIAN)
    rows = [{"text": "Да 👍 да"}, {"text": "世界"}]
    manifest = prepare_corpus(rows, {"label": "x"}, job, tmp_path)
    assert list(texts(tmp_path)) == ["Да  да"]
    assert manifest["skipped"]["empty"] == 1 and manifest["scripts"] == RUSSIAN


REFUSED = {
    "no script": ({"scripts": ["Cyrilic"]}, "'Cyrilic' is no script"),
    "a part of a pattern": ({"scripts": ["Latin}]|."]}, "is no script"),
    "conversations": ({"scripts": RUSSIAN, "messages_field": "m"}, "scripts is for rows of text"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    options, said = REFUSED[case]
    with pytest.raises(ValueError, match=said):
        CorpusJob(corpus="c", language="ru", **options)


@pytest.mark.parametrize(
    ("texts", "script"),
    [
        ([" già", "ж", "12"], "Latin"),
        (["न", "ꯀꯀ", "ꯀ"], "Meetei_Mayek"),  # of two words
        (["漢字", "か"], "Han"),  # called CJK in names
        (["жя", "ab"], "Cyrillic"),  # as many of each: the first by name
        (["12", "ʰ!"], None),  # a modifier letter, whose name begins otherwise
    ],
)
def test_the_script_of_most_letters(texts, script):
    assert commonest_script(texts) == script


@pytest.mark.parametrize(
    ("text", "written"),
    [(" नमस्ते!", True), ("नमaस्ते", False), ("12", False), ("", False), ("abc", False)],
)
def test_a_text_in_a_script_alone(text, written):
    assert is_written_in(text, "Devanagari") is written
