"""Tokens per word."""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_vocabularies import byte_level, sentencepiece_bpe, unigram, wordpiece

from revocab.corpora import word_splitters
from revocab.corpora.prepare import CorpusJob, prepare_corpus
from revocab.corpora.source import Form
from revocab.corpora.word_splitters import RULES, Words, start_splitting
from revocab.errors import RevocabError
from revocab.io import read_json, sha256
from revocab.vocabulary.building.constructions.train import train_tokenizer
from revocab.vocabulary.building.training_text import batched
from revocab.vocabulary.fertility import (
    COLUMNS,
    PARALLEL_COLUMNS,
    FertilityJob,
    Text,
    fertility_of_folders,
    fertility_row,
    measure_fertility,
    measure_parallel,
    parallel_lines,
)
from revocab.vocabulary.token_counts import (
    TokenCounts,
    count_token_classes,
    share_split,
    token_classes,
)
from revocab.vocabulary.tokenizers import encoding
from revocab.vocabulary.tokenizers.load import write_tokenizer

TEXTS = ["Il cane corre.", "La città è bella, e grande.", "Un altro cane dorme qui."]


@pytest.fixture(scope="module")
def tokenizers():
    return {
        "small": train_tokenizer(batched(TEXTS), "byte_level", 262),
        "large": train_tokenizer(batched(TEXTS), "byte_level", 290),
    }


def prepared(folder, name="it", **options):
    job = CorpusJob(corpus=name, language=name, **options)
    prepare_corpus([{"text": text} for text in TEXTS], {"label": name}, job, folder / name)
    return {name: folder / name}


@pytest.fixture
def folder(tokenizers, tmp_path):
    write_tokenizer(tokenizers["small"], tmp_path / "tokenizer")
    return {"small": tmp_path / "tokenizer"}


def test_by_hand():
    documents = ["uno due", " ", "è"]
    text = Text("it", "it", documents, RULES)
    words = start_splitting(documents, "it", RULES)()
    assert words == Words([2, 0, 1], Counter({"uno": 1, "due": 1, "è": 1}))
    # The blank document's tokens count nowhere.
    counted = ([3, 9, 4], [1, 9, 0], [0, 9, 2], [0, 0, 0])
    counts = TokenCounts(*map(np.array, counted))
    row, ratios = fertility_row("t", text, words, counts, 0.25)
    assert ratios == [3 / 2, 4 / 1]
    assert row["fertility"] == (3 / 2 + 4 / 1) / 2
    assert row["fertility_corpus"] == 7 / 3
    assert (row["documents"], row["words"], row["tokens"]) == (2, 3, 7)
    assert (row["characters"], row["bytes"]) == (8, 9)
    assert row["characters_per_token"] == 8 / 7
    assert row["bytes_per_token"] == 9 / 7
    assert (row["unknown_rate"], row["byte_rate"], row["words_split"]) == (1 / 7, 2 / 7, 0.25)
    assert row["skipped_empty"] == 1
    assert tuple(row) == COLUMNS


@settings(max_examples=60)
@given(st.lists(st.text("abè日 .,'\n!", max_size=30), min_size=1, max_size=6))
def test_equals_a_plain_loop(tokenizers, documents):
    """To the last bit per document, and to 1e-9 in the mean, whatever the texts."""
    from nltk.tokenize import NLTKWordTokenizer

    words = NLTKWordTokenizer()
    kept = [text for text in documents if words.tokenize(text)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("revocab.vocabulary.tokenizers.encoding.BATCH_CHARACTERS", 20)
        if not kept:
            with pytest.raises(RevocabError, match="corpus it: no document with a word"):
                measure_fertility(tokenizers, [Text("it", "it", documents, RULES)])
            return
        rows, found = measure_fertility(tokenizers, [Text("it", "it", documents, RULES)])
    for row, distribution, tokenizer in zip(rows, found, tokenizers.values(), strict=True):
        ratios = [len(tokenizer.tokenize(text)) / len(words.tokenize(text)) for text in kept]
        assert row["fertility"] == pytest.approx(sum(ratios) / len(ratios), abs=1e-9)
        assert distribution["fertility"] == ratios


def test_texts_of_several_batches_are_counted_by_themselves(monkeypatch):
    texts = ["cane", "zzz cane", "", "cane zzz zzz", "cane"]
    whole = count_token_classes(wordpiece(), texts)
    by_one = [[text] for text in texts]
    monkeypatch.setattr(encoding, "_batches", lambda documents: by_one)
    parts = count_token_classes(wordpiece(), texts)
    for name in ("tokens", "unknown", "bytes_", "lost"):
        assert getattr(parts, name).tolist() == getattr(whole, name).tolist()
    assert parts.unseen == whole.unseen and whole.unseen.first == "document 2"


def test_unknown_and_byte_tokens():
    """Every family, against a count over the ids."""
    found = count_token_classes(wordpiece(), ["cane zzz cane", "", "zzz"])
    assert found.tokens.tolist() == [3, 0, 1]
    assert found.unknown.tolist() == [1, 0, 1]
    assert found.bytes_.tolist() == [0, 0, 0]
    # "é" is two byte tokens; the line end is one too, because no other token stands for it.
    found = count_token_classes(sentencepiece_bpe(), ["cane", "é\n"])
    assert found.bytes_.tolist() == [0, 3]
    assert found.unknown.tolist() == [0, 0]
    # Byte-level: parts of characters are bytes; a line end is text.
    assert len(token_classes(byte_level())) == max(byte_level().get_vocab().values()) + 1
    found = count_token_classes(byte_level(), ["cane\n", "èé"])
    assert found.bytes_.tolist() == [0, 2]


def test_held_out_text_is_measured_by_its_split(folder, tmp_path):
    corpora, measured = prepared(tmp_path, heldout_bytes=30), {}
    for split in ("train", "heldout"):
        (row,) = fertility_of_folders(folder, corpora, tmp_path / split, FertilityJob(split=split))
        manifest = read_json(tmp_path / split / "manifest.json")
        sums = read_json(tmp_path / "it/manifest.json")["sha256"]
        assert manifest["corpora"] == {"it": sums[split]}
        measured[split] = row["documents"]
    assert measured["train"] + measured["heldout"] == len(TEXTS)


def test_share_of_words_split():
    words = Counter({"cane": 3, "cena": 1, ",": 5, "12": 2})
    # A word stands after a space, whether the tokenizer puts one there itself or not.
    assert share_split(sentencepiece_bpe(), words) == 1 / 4
    assert share_split(byte_level(), words) == 1 / 4
    assert share_split(unigram(), words) == 1 / 4
    assert share_split(wordpiece(), Counter({"cane": 1, "canecane": 1})) == 1 / 2
    assert share_split(wordpiece(), Counter({",": 1})) is None


def test_parallel_text(tokenizers):
    lines = parallel_lines(
        [{"it": "è", "en": "is it"}, {"it": "no", "en": "no"}], ["en", "it"], "x"
    )
    rows = measure_parallel(tokenizers, lines)
    assert [(row["tokenizer"], row["language"]) for row in rows] == [
        (name, language) for name in tokenizers for language in ("en", "it")
    ]
    small = tokenizers["small"]
    counts = [sum(map(len, map(small.tokenize, lines[language]))) for language in ("en", "it")]
    assert [row["tokens"] for row in rows[:2]] == counts
    assert (rows[0]["parity"], rows[1]["parity"]) == (1, counts[1] / counts[0])
    assert rows[1]["characters_per_token"] == 3 / counts[1]
    assert tuple(rows[0]) == PARALLEL_COLUMNS
    # Three byte tokens in two sentences, as above.
    bpe = sentencepiece_bpe()
    (row,) = measure_parallel({"bpe": bpe}, {"it": ["cane", "é\n"]})
    tokens = sum(count_token_classes(bpe, ["cane", "é\n"]).tokens)
    assert (row["sentences"], row["bytes"], row["characters"]) == (2, 7, 6)
    assert (row["byte_rate"], row["unknown_rate"]) == (3 / tokens, 0)
    assert row["tokens_per_sentence"] == tokens / 2
    with pytest.raises(RevocabError, match=r"x, row 1: no text in de \(fields: en, it\)"):
        parallel_lines([{"it": "è", "en": "is"}], ["de", "it"], "x")
    with pytest.raises(RevocabError, match="x: no text in it"):
        parallel_lines([{"it": " ", "en": "is"}], ["en", "it"], "x")


def test_folders(folder, tmp_path):
    corpora = prepared(tmp_path)
    for language in ("it", "en"):
        (tmp_path / f"{language}.txt").write_text("uno\ndue\n", encoding="utf-8")
    measured = FertilityJob(
        limit_documents=2, splitter="unicode", parallel=Form(languages=("it", "en")),
        languages=["en", "it"],
    )  # fmt: skip
    parallel = [tmp_path / "it.txt", tmp_path / "en.txt"]
    for name in ("a", "b"):
        fertility_of_folders(folder, corpora, tmp_path / name, measured, parallel)
    tables = "fertility.csv floors.csv parallel.csv documents.parquet manifest.json"
    for name in tables.split():
        assert sha256(tmp_path / "a" / name) == sha256(tmp_path / "b" / name)
    with (tmp_path / "a" / "fertility.csv").open() as handle:
        (row,) = csv.DictReader(handle)
    assert row["documents"] == "2"
    assert row["splitter"] == "unicode-words"
    assert read_json(tmp_path / "a" / "manifest.json")["splitters"] == {"it": "unicode-words"}
    with (tmp_path / "a" / "parallel.csv").open() as handle:
        assert [entry["parity"] for entry in csv.DictReader(handle)] == ["1.0", "1.0"]
    table = pq.read_table(tmp_path / "a" / "documents.parquet").to_pydict()
    assert table["tokenizer"] == ["small"] * 2
    assert float(row["fertility"]) == pytest.approx(sum(table["fertility"]) / 2)


def test_words_without_sentence_data_are_said_aloud(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(word_splitters, "available_splitter", lambda language: RULES)
    corpora = prepared(tmp_path) | prepared(tmp_path, "sw")
    fertility_of_folders(folder, corpora, tmp_path / "out", FertilityJob())
    said = capsys.readouterr().err
    assert "corpus it" in said and "corpus sw" not in said  # NLTK has no data for it
    by_rules = FertilityJob(splitter="nltk_rules")
    fertility_of_folders(folder, corpora, tmp_path / "out", by_rules)
    assert capsys.readouterr().err == ""
