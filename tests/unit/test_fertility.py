"""Tokens per word."""

from __future__ import annotations

import csv

import pyarrow.parquet as pq
import pytest

from revocab.corpora.prepare import CorpusOptions, prepare_corpus
from revocab.corpora.words import RULES
from revocab.errors import RevocabError
from revocab.io import read_json, sha256
from revocab.vocabulary.build import batched, save_tokenizer, train_tokenizer
from revocab.vocabulary.fertility import (
    COLUMNS,
    count_text,
    count_tokens,
    fertility_of_folders,
    fertility_row,
    measure_fertility,
)

TEXTS = ["Il cane corre.", "La città è bella, e grande.", "Un altro cane dorme qui."]


@pytest.fixture(scope="module")
def tokenizers():
    return {
        "small": train_tokenizer(batched(TEXTS), "byte_level", 262),
        "large": train_tokenizer(batched(TEXTS), "byte_level", 290),
    }


def test_by_hand():
    counted = count_text("it", "it", ["uno due", " ", "è"], RULES)
    assert (counted.words, counted.skipped_empty) == ([2, 1], 1)
    row = fertility_row("t", counted, [3, 4])
    assert row["fertility"] == (3 / 2 + 4 / 1) / 2
    assert row["fertility_corpus"] == 7 / 3
    assert (row["documents"], row["words"], row["tokens"]) == (2, 3, 7)
    assert (row["characters"], row["bytes"]) == (8, 9)
    assert row["characters_per_token"] == 8 / 7
    assert row["bytes_per_token"] == 9 / 7
    assert tuple(row) == COLUMNS


def test_equals_a_plain_loop(tokenizers, monkeypatch):
    from nltk.tokenize import NLTKWordTokenizer

    monkeypatch.setattr("revocab.vocabulary.fertility.BATCH_CHARACTERS", 20)
    rows, distributions = measure_fertility(tokenizers, [count_text("it", "it", TEXTS, RULES)])
    words = NLTKWordTokenizer()
    for row, distribution, tokenizer in zip(rows, distributions, tokenizers.values(), strict=True):
        ratios = [len(tokenizer.tokenize(text)) / len(words.tokenize(text)) for text in TEXTS]
        assert row["fertility"] == pytest.approx(sum(ratios) / len(ratios), abs=1e-12)
        assert distribution["fertility"] == ratios
    assert rows[1]["fertility"] < rows[0]["fertility"]


def test_special_tokens_are_not_counted(tokenizers):
    assert count_tokens(tokenizers["large"], ["", "a"]) == [0, 1]


def test_no_words_at_all():
    with pytest.raises(RevocabError, match="corpus it: no document with a word"):
        count_text("it", "it", [" ", ""], RULES)


def test_folders(tmp_path, tokenizers):
    prepare_corpus(
        [{"text": text} for text in TEXTS],
        {"label": "t"},
        CorpusOptions("it", "it"),
        tmp_path / "c",
    )
    save_tokenizer(tokenizers["large"], {"alphabet": "byte_level"}, tmp_path / "t")
    for name in ("a", "b"):
        fertility_of_folders(
            {"large": tmp_path / "t"}, {"it": tmp_path / "c"}, tmp_path / name, limit_documents=2
        )
    for name in ("fertility.csv", "documents.parquet", "manifest.json"):
        assert sha256(tmp_path / "a" / name) == sha256(tmp_path / "b" / name)
    with (tmp_path / "a" / "fertility.csv").open() as handle:
        (row,) = csv.DictReader(handle)
    assert row["documents"] == "2"
    assert row["splitter"] == read_json(tmp_path / "a" / "manifest.json")["splitters"]["it"]
    table = pq.read_table(tmp_path / "a" / "documents.parquet").to_pydict()
    assert table["tokenizer"] == ["large"] * 2
    assert float(row["fertility"]) == pytest.approx(sum(table["fertility"]) / 2)
