"""fastText vectors: what is trained, on what words, the same bits every time, and who uses them."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from method_inputs import COMPARING
from safetensors.torch import load_file, save_file
from toy_folders import initialise
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer

from revocab.errors import RevocabError
from revocab.initialise.reading import fasttext
from revocab.initialise.reading.fasttext import (
    AuxiliaryJob,
    Sentences,
    load_auxiliary,
    train,
    train_auxiliary,
    vectors,
    word,
)
from revocab.io import read_json, write_json, write_jsonl
from revocab.vocabulary.tokenizers.canonical import CanonicalToken, canonical_vocabulary
from revocab.vocabulary.tokenizers.load import load_tokenizer

SMALL = AuxiliaryJob(dimension=12, epochs=2, min_count=3, buckets=500, seed=5)


def write_corpus(folder, texts):
    rows = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    write_jsonl(folder / "train.jsonl.gz", rows)
    write_json(folder / "manifest.json", {"language": "it", "documents": len(rows)})
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two tokenizers, two corpora, and the vectors trained on them."""
    folder = tmp_path_factory.mktemp("fasttext")
    source = build_tokenizer(SOURCE_WORDS, 30, folder / "source")
    target = build_tokenizer(TARGET_WORDS, 45, folder / "target")
    corpora = {
        "it": write_corpus(folder / "it", ["il gatto e il cane sono a casa"] * 40),
        "en": write_corpus(folder / "en", ["the cat sat on the mat"] * 30),
    }
    train_auxiliary(target, [source], corpora, folder / "vectors", SMALL)
    return folder


def test_words_are_shared_by_both_spellings():
    spelled = {
        "word_start": (b" perch\xc3\xa9", "▁perché"),
        "continuation": ("così".encode(), "così"),
        "byte": (b"\xe2\x80", "<0xE2><0x80>"),
        "special": (b"<s>", None),
    }
    for kind, (data, expected) in spelled.items():
        assert word(CanonicalToken(kind, data, None, "spelling")) == expected


def test_sentences_are_tokens_of_the_documents(world):
    tokenizer = load_tokenizer(world / "target")
    words = [word(token) for token in canonical_vocabulary(tokenizer)]
    sentences = Sentences(tokenizer, words, ["il gatto", "", "the mat"])
    first = list(sentences)
    assert ["".join(words) for words in first] == ["▁il▁gatto", "▁the▁mat"]
    assert list(sentences) == first  # every epoch reads the same
    assert sentences.tokens == sum(map(len, first))
    cut = list(Sentences(tokenizer, words, ["il gatto " * 2000]))
    assert len(cut) > 1 and max(map(len, cut)) <= 1024
    assert "".join("".join(words) for words in cut).count("gatto") == 2000


def test_corpora_take_turns(world, tmp_path, monkeypatch):
    class Read(Exception): ...

    def sentences(tokenizer, words, documents):
        raise Read(*documents)

    monkeypatch.setattr(fasttext, "Sentences", sentences)
    corpora = {
        "it": write_corpus(tmp_path / "it", ["a", "b", "c"]),
        "en": write_corpus(tmp_path / "en", ["1"]),
    }
    with pytest.raises(Read) as caught:
        train_auxiliary(world / "target", [world / "source"], corpora, tmp_path / "out", SMALL)
    assert caught.value.args == ("a", "1", "b", "c")


def test_frequent_tokens_are_trained_and_others_spelled(world):
    tokens = canonical_vocabulary(load_tokenizer(world / "target"))
    text = ["il gatto e il cane sono a casa"] * 9 + ["perché"]
    tokenizer = load_tokenizer(world / "target")
    model = train(Sentences(tokenizer, [word(token) for token in tokens], text), SMALL)
    rows, trained = vectors(model, tokens)
    assert rows.shape == (len(tokens), 12) and rows.dtype == np.float32
    by_word = {word(token): number for number, token in enumerate(tokens)}
    assert trained[by_word["▁il"]]
    assert np.array_equal(rows[by_word["▁il"]], model.wv["▁il"])
    # Not in the text three times: its n-grams alone.
    assert not trained[by_word["▁the"]] and rows[by_word["▁the"]].any()
    for number, token in enumerate(tokens):
        if token.kind == "special" or (token.kind == "byte" and not trained[number]):
            assert not rows[number].any()


@pytest.mark.long
def test_same_text_same_bits_in_another_process(world, tmp_path):
    """Also under another hash seed: gensim's own start depends on none here."""
    command = [sys.executable, "-m", "revocab", "train_auxiliary"]
    command += ["--target-tokenizer", world / "target", "--source-tokenizers", world / "source"]
    command += ["--corpora", f"it={world / 'it'}", f"en={world / 'en'}"]
    command += ["--dimension", "12", "--epochs", "2", "--min-count", "3", "--buckets", "500"]
    command += ["--seed", "5", "--out", tmp_path / "again"]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([str(part) for part in command], check=True, env=environment)
    for name in ("vectors.safetensors", "manifest.json"):
        assert (tmp_path / "again" / name).read_bytes() == (world / "vectors" / name).read_bytes()


def test_source_tokens_are_in_the_same_space(world):
    source, target = (load_tokenizer(world / name) for name in ("source", "target"))
    found = load_auxiliary(world / "vectors", source, target)
    ours, theirs = (
        {word(token): number for number, token in enumerate(canonical_vocabulary(tokenizer))}
        for tokenizer in (source, target)
    )
    shared = [text for text in ours if text in theirs and text is not None and "▁" in text]
    assert {"▁the", "▁cat"} <= set(shared)
    for text in shared:
        assert (found.source_VA[ours[text]] == found.target_VA[theirs[text]]).all()
    alone = [text for text in ours if text and text not in theirs and not text.startswith("<0x")]
    assert alone and all(found.source_VA[ours[text]].any() for text in alone)


def test_vectors_of_other_vocabularies_are_refused(world):
    source, target = (load_tokenizer(world / name) for name in ("source", "target"))
    with pytest.raises(RevocabError) as error:
        load_auxiliary(world / "vectors", target, source)
    assert len(error.value.problems) == 2
    with pytest.raises(RevocabError, match="run train_auxiliary"):
        load_auxiliary(world, source, target)


def test_too_little_text_is_an_error(world, tmp_path):
    corpus = write_corpus(tmp_path / "tiny", ["casa"])
    with pytest.raises(RevocabError, match="lower min_count"):
        train_auxiliary(
            world / "target", [world / "source"], {"tiny": corpus}, tmp_path / "out", SMALL
        )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("method", COMPARING)
def test_a_model_is_initialised_without_a_helper(world, tmp_path, method):
    model = build_model(world / "source", tmp_path / "model", seed=1)
    keys = {"target_tokenizer": world / "target", "options": {"auxiliary": "fasttext"}}
    with pytest.raises(RevocabError, match="--vectors"):
        initialise(model, tmp_path / "out", method, **keys)
    initialise(model, tmp_path / "out", method, vectors=world / "vectors", **keys)
    assert len(read_json(tmp_path / "out/provenance.json")["auxiliary"]) == 64
    notes = read_json(tmp_path / "out/diagnostics.json")["matrices"]["input"]["method"]
    assert notes["candidates"] > 0


@pytest.mark.parametrize("method", [*COMPARING, "clp"])
def test_both_matrices_compare_tokens_in_the_helpers_input_rows(world, tmp_path, method):
    """The LM head of the helper bears on clp, which is published so, and on no other."""
    model = build_model(world / "source", tmp_path / "model", seed=1)
    heads = []
    for change in (1, -1):
        helper = build_model(world / "target", tmp_path / f"helper{change}", seed=2)
        tensors = load_file(helper / "model.safetensors")
        tensors["lm_head.weight"][::2] *= change
        save_file(tensors, helper / "model.safetensors", {"format": "pt"})
        out = tmp_path / f"out{change}"
        initialise(model, out, method, target_tokenizer=world / "target", helper=helper)
        heads.append(load_file(out / "model.safetensors")["lm_head.weight"])
    assert torch.equal(*heads) == (method != "clp")
