"""Corpora from JSONL, text and parquet, plain and compressed, one file or a folder."""

from __future__ import annotations

import gzip
import json

import pytest

from revocab.corpora.formats import checksum, content_of, file_rows
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
    assert manifest["source"]["file"] == path.name


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
    ],
)  # fmt: skip
def test_bad_files_are_named(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RevocabError, match=message):
        list(file_rows(tmp_path / name))


def test_an_empty_folder(tmp_path):
    with pytest.raises(RevocabError, match="no file of a supported format"):
        list(file_rows(tmp_path))


def test_content_is_told_by_the_name(tmp_path):
    assert content_of(tmp_path / "a.jsonl.gz") == ("jsonl", "gzip")
    assert content_of(tmp_path / "a.csv") is None


@pytest.mark.parametrize("kind", ["jsonl", "txt", "tsv"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_the_case_of_an_ending_and_a_byte_order_mark_say_nothing(tmp_path, kind, ending):
    data = '{"text": "però"}\n' if kind == "jsonl" else "però\n"
    path = tmp_path / f"corpus.{kind}{ending}".upper()
    path.write_bytes(compressed(data.encode("utf-8-sig"), ending))
    assert [list(row.values()) for row in file_rows(path)] == [["però"]]
