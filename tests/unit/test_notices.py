"""What is said of things that go on otherwise than asked, or that ended from outside."""

from __future__ import annotations

import csv

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from revocab.errors import RevocabError
from revocab.io import read_csv, write_csv
from revocab.report.results.scores import Scores

#: Labels, and what stands in a CSV file for them.
LABELS = {
    "=1+1": "'=1+1", "+x": "'+x", "-x": "'-x", "@x": "'@x", "\tx": "'\tx", "'=x": "''=x",
    "''@x": "'''@x", "-1+2": "'-1+2", "-": "'-", "-0.5": "-0.5", "+5": "+5", "-1e-5": "-1e-5",
    "'x": "'x", "x": "x", "": "", "–": "–", "'-5": "''-5", "a=b": "a=b",
}  # fmt: skip


def test_spreadsheets_compute_no_label_and_numbers_stay_numbers(tmp_path):
    rows = [{"label": label, "value": -0.5} for label in LABELS]
    write_csv(tmp_path / "a.csv", ("label", "value"), rows)
    with (tmp_path / "a.csv").open(newline="") as handle:
        stored = [*csv.reader(handle)][1:]
    assert stored == [[cell, "-0.5"] for cell in LABELS.values()]
    assert [row["label"] for row in read_csv(tmp_path / "a.csv")] == [*LABELS]


def test_a_parquet_file_that_is_cut_or_lacks_a_column_is_one_line(tmp_path):
    file = tmp_path / "scores.parquet"
    pq.write_table(pa.table({"run": ["a"] * 1000}), file)
    with pytest.raises(RevocabError, match=r"scores\.parquet: has no column experiment, source"):
        Scores.read(file)
    whole = file.read_bytes()
    for content in (whole[:-20], whole[: len(whole) // 2], b"", b"PAR1", b"x" * 100):
        file.write_bytes(content)
        with pytest.raises(RevocabError, match=r"scores\.parquet: not a readable parquet file"):
            Scores.read(file)
    with pytest.raises(RevocabError, match="no such file"):
        Scores.read(tmp_path / "none.parquet")
