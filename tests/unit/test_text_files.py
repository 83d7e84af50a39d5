"""What a document of a text file is: as its lines tell, or as an option says, and said aloud."""

from __future__ import annotations

import gzip
import json

import pytest
from pydantic import ValidationError

from revocab.corpora import formats
from revocab.corpora.formats import reading_of, reading_of_lines
from revocab.corpora.options import CorpusJob
from revocab.corpora.prepare import prepare
from revocab.corpora.read import texts
from revocab.errors import RevocabError

SENTENCES = "Ο πρώτος.\nΠού είναι;\n«Το τρίτο!»\n"
WRAPPED = "un testo che va\na capo dove finisce\nla riga e qui.\n"
PARTS = "uno\ndue\n\n\ntre\n"


def read_as(tmp_path, text, documents="auto", name="a.txt"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    job = CorpusJob(corpus="toy", language="it", text_documents=documents)
    manifest = prepare([path], job, tmp_path / "out")
    return list(texts(tmp_path / "out")), manifest["source"]["read_as"]


@pytest.mark.parametrize("name", ["a.txt", "a.TXT.gz"])
@pytest.mark.parametrize(
    ("text", "expected", "documents"),
    [
        (SENTENCES, ["Ο πρώτος.", "Πού είναι;", "«Το τρίτο!»"], "lines"),
        (WRAPPED, [WRAPPED.strip()], "empty_lines"),
        (PARTS, ["uno\ndue", "tre"], "empty_lines"),
        ("Uno.\nDue.\n\n\n", ["Uno.", "Due."], "lines"),
        ("\n\nUno.\nDue.\n", ["Uno.", "Due."], "lines"),
        ("Uno.", ["Uno."], "empty_lines"),
    ],
)
def test_the_lines_tell(tmp_path, capsys, name, text, expected, documents):
    assert read_as(tmp_path, text, name=name) == (expected, documents)
    (line,) = capsys.readouterr().err.splitlines()
    assert name in line and documents in line


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ("empty_lines", ["uno\ndue", "tre"]),
        ("lines", ["uno", "due", "tre"]),
        ("file", ["uno\ndue\n\n\ntre"]),
    ],
)
def test_an_option_decides(tmp_path, documents, expected):
    assert read_as(tmp_path, PARTS, documents)[0] == expected


def test_half_of_the_lines_are_enough():
    assert reading_of_lines(["Uno.", "due"]) == "lines"
    assert reading_of_lines(["Uno.", "due", "tre"]) == "empty_lines"


def test_each_of_several_files_keeps_its_lines_together(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("Uno.\nDue.\n")
    assert reading_of([tmp_path], "auto") == "empty_lines"


def test_an_answer_about_no_text_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "uno"}\n')
    assert reading_of([tmp_path], "auto") is None
    with pytest.raises(RevocabError, match="received 'lines', which is for"):
        reading_of([tmp_path / "a.jsonl"], "lines")
    with pytest.raises(ValidationError):
        CorpusJob(corpus="toy", language="it", text_documents="sentences")


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_a_document_that_no_memory_should_hold_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(formats, "DOCUMENT_CHARACTERS", 100)
    text = "uno due\n" * 20
    rows = json.dumps({"text": text}) + "\n" if name == "a.jsonl" else text
    (tmp_path / name).write_text("uno\n\n" * (name == "a.txt") + rows)
    job = CorpusJob(corpus="toy", language="it")
    with pytest.raises(RevocabError, match=r"(line 15|row 1): a document of 1\d\d characters"):
        prepare([tmp_path / name], job, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_of_other_kinds_beside_text_are_not_passed_over(tmp_path):
    folder = tmp_path / "texts"
    for name in (
        "a.txt",
        "b/c.jsonl.gz",
        "README.md",
        "dataset_infos.json",
        ".cache/x.csv",
        "a.md5",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("uno\n")
    assert [file.name for file in formats.data_files(folder)] == ["a.txt", "c.jsonl.gz"]
    (folder / "b/more.md").write_text("due\n")
    with pytest.raises(RevocabError, match=r"texts: beside text it holds more\.md, "):
        formats.data_files(folder)
