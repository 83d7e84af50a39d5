"""Rows of sources: patterns of files, aligned files, renamed fields, joined configurations."""

from __future__ import annotations

from pathlib import Path

import pytest

from revocab.corpora.source import Form, Source, aligned_rows, joined, read_rows, renamed
from revocab.errors import RevocabError
from revocab.io import write_jsonl


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """Two files of rows and two of lines, in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("b", "due"), ("a", "uno")):
        write_jsonl(tmp_path / f"parts/{name}.jsonl", [{"it": text}])
    for language in ("it", "en"):
        (tmp_path / f"{language}.txt").write_text("uno\n", encoding="utf-8")
    return tmp_path


def test_a_pattern_names_files_in_order(place):
    assert Source(pattern="parts/*.jsonl").files("w") == ["parts/a.jsonl", "parts/b.jsonl"]
    assert Source(pattern=f"{place}/**/a.jsonl").files("w") == [f"{place}/parts/a.jsonl"]
    with pytest.raises(RevocabError, match=r"'\*\.csv': no file matches"):
        Source(pattern="*.csv").files("w")


def test_aligned_text_files(place):
    (place / "it.txt").write_text("uno\u2028ancora\ndue\n", encoding="utf-8")
    (place / "en.txt").write_text("one\r\ntwo", encoding="utf-8")
    form = Source(lines={"it": "it.txt", "en": "en.txt"}).form
    assert list(read_rows(form, [Path("it.txt"), Path("en.txt")])) == [
        {"id": "0", "it": "uno\u2028ancora", "en": "one"},
        {"id": "1", "it": "due", "en": "two"},
    ]
    (place / "en.txt").write_text("one\n", encoding="utf-8")
    with pytest.raises(RevocabError, match=r"it\.txt: 2, .*en\.txt: 1"):
        list(aligned_rows({"it": Path("it.txt"), "en": Path("en.txt")}))
    (place / "en.txt").write_bytes("è\n".encode("latin-1"))
    with pytest.raises(RevocabError, match=r"en\.txt.*not UTF-8"):
        list(aligned_rows({"it": Path("it.txt"), "en": Path("en.txt")}))


def test_fields_are_renamed():
    row = {"sentence_ita_Latn": "ciao", "answers": {"text": ["x"]}}
    found = renamed(row, {"it": "sentence_ita_Latn", "answers": "answers.text"}, "o/d")
    assert (found["it"], found["answers"]) == ("ciao", ["x"])
    with pytest.raises(RevocabError, match=r"o/d: no field 'answers\.start'"):
        renamed(row, {"answers": "answers.start"}, "o/d")


@pytest.mark.parametrize(
    ("italian", "english", "said"),
    [
        (
            [{"id": 1, "text": "a"}, {"id": 1, "text": "b"}],
            [{"id": 1, "text": "a"}],
            "o/d, it: 'id' is not unique",
        ),
        (
            [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}],
            [{"id": 1, "text": "a"}, {"id": 3, "text": "b"}],
            r"o/d: 2 values of 'id' are in it or in en only \(2, 3\)",
        ),
    ],
)
def test_configurations_that_cannot_be_joined(italian, english, said):
    with pytest.raises(RevocabError, match=said):
        list(joined({"it": italian, "en": english}, "o/d"))


def test_configurations_are_joined_by_their_key_in_the_order_of_the_first():
    italian = [{"id": 2, "text": "due"}, {"id": 1, "text": "uno"}]
    english = [{"id": 1, "text": "one"}, {"id": 2, "text": "two"}]
    assert list(joined({"it": italian, "en": english}, "o/d")) == [
        {"id": "2", "it": "due", "en": "two"},
        {"id": "1", "it": "uno", "en": "one"},
    ]


def test_a_path_of_fields_goes_through_lists():
    row = {"outputs": [{"segment": "a"}, {"segment": "b"}], "inputs": {"text": "c"}}
    fields = {"answers": "outputs.segment", "text": "inputs.text"}
    found = renamed(row, fields, "o/d")
    assert (found["answers"], found["text"]) == (["a", "b"], "c")
    with pytest.raises(RevocabError, match=r"o/d: no field 'outputs.start' \(a row has: inputs, o"):
        renamed(row, {"answers": "outputs.start"}, "o/d")


def test_aligned_lines_begin_after_a_byte_order_mark(tmp_path):
    path = tmp_path / "it.txt"
    path.write_text("uno\ndue\n", encoding="utf-8-sig")
    rows = list(read_rows(Form(kind="lines", languages=("it",)), [path]))
    assert [row["it"] for row in rows] == ["uno", "due"]
