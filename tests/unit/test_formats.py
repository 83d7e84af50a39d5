"""Corpora from JSONL, text and parquet, plain and compressed, one file or a folder; and what a
document of a text file is: as its lines tell, or as an option says, and said aloud.
"""

from __future__ import annotations

import gzip
import json

import pytest
from pydantic import ValidationError

from revocab.corpora import formats
from revocab.corpora.formats import (
    checksum,
    file_rows,
    reading_of,
    reading_of_lines,
)
from revocab.corpora.prepare import CorpusJob, prepare
from revocab.corpora.read import texts
from revocab.errors import RevocabError

TEXTS = ["la città è grande", "due righe\ndi testo", "fine"]


def compressed(data, ending):
    import pyarrow

    if ending == ".gz":
        return gzip.compress(data)
    if ending == ".zst":
        return pyarrow.Codec("zstd").compress(data, asbytes=True)
    return data


def write(folder, kind, ending=""):
    import pyarrow
    from pyarrow import parquet

    folder.mkdir(exist_ok=True)
    path = folder / f"corpus.{kind}{ending}"
    if kind == "parquet":
        parquet.write_table(pyarrow.table({"text": TEXTS, "n": [1, 2, 3]}), path)
        return path
    if kind == "jsonl":
        lines = [json.dumps({"text": text}, ensure_ascii=False) for text in TEXTS]
        data = "\n".join(lines) + "\n"
    else:
        data = "\n\n \n".join(TEXTS) + "\n\n"
    path.write_bytes(compressed(data.encode(), ending))
    return path


KINDS = [
    ("parquet", ""),
    *((kind, end) for kind in ("jsonl", "txt") for end in ("", ".gz", ".zst")),
]


@pytest.mark.parametrize(("kind", "ending"), KINDS)
def test_every_format_gives_the_same_documents(tmp_path, kind, ending):
    path = write(tmp_path / "in", kind, ending)
    assert [row["text"] for row in file_rows(path)] == TEXTS
    manifest = prepare([path], CorpusJob(corpus="toy", language="it"), tmp_path / "out")
    assert list(texts(tmp_path / "out")) == TEXTS
    assert manifest["source"]["file"] == path.name and str(tmp_path) not in json.dumps(manifest)


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path):
    for number, text in enumerate(["b", "a", "c"]):
        (tmp_path / f"part-{number}.txt").write_text(text)
    (tmp_path / "README.md").write_text("not data")
    assert [row["text"] for row in file_rows(tmp_path)] == ["b", "a", "c"]
    before = checksum(tmp_path)
    (tmp_path / "part-1.txt").write_text("A")
    assert checksum(tmp_path) != before


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"buono\n\ncitt\xe0\n", r"a.txt, line 3: not UTF-8"),
        ("a.jsonl.zst", b"not zstd", "broken zstd file"),
        ("a.txt.zst", compressed(b"testo " * 9999, ".zst")[:-20], "broken zstd file"),
        ("a.parquet", b"PAR1 and nothing else", "not a readable parquet"),
        ("a.parquet.gz", b"", "allowed are"),
        ("a.pdf", b"", "allowed are"),
        ("a.jsonl", b'{"text": "a"}\n{"text"', "line 2: not valid JSON"),
        ("a.jsonl.gz", gzip.compress(b'{"text": "a"}\n' * 1000)[:40], "broken gzip"),
        ("b.jsonl.gz", b'{"text": "a"}\n', "broken gzip"),
        ("absent.jsonl", None, "no such file"),
    ],
)  # fmt: skip
def test_bad_files_are_named(tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(RevocabError, match=message):
        list(file_rows(tmp_path / name))


def test_an_empty_folder(tmp_path):
    with pytest.raises(RevocabError, match="no file of a supported format"):
        list(file_rows(tmp_path))


@pytest.mark.parametrize("kind", ["jsonl", "txt", "tsv"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_the_case_of_an_ending_and_a_byte_order_mark_say_nothing(tmp_path, kind, ending):
    data = '{"text": "però"}\n' if kind == "jsonl" else "però\n"
    path = tmp_path / f"corpus.{kind}{ending}".upper()
    path.write_bytes(compressed(data.encode("utf-8-sig"), ending))
    assert [list(row.values()) for row in file_rows(path)] == [["però"]]


# Documents of text files --------------------------------------------------------------------------

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
    names = "a.txt b/c.jsonl.gz README.md dataset_infos.json .cache/x.csv a.md5"
    for name in names.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("uno\n")
    assert [file.name for file in formats.data_files(tmp_path)] == ["a.txt", "c.jsonl.gz"]
    (tmp_path / "b/more.md").write_text("due\n")
    with pytest.raises(RevocabError, match=r"beside text it holds more\.md, "):
        formats.data_files(tmp_path)
