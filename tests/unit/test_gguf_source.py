"""A model that exists only as a GGUF: the folder that is made of it."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from construction_toys import build_trained, edited, mixture, prepared
from safetensors.torch import load_file
from toy_models import build_model

from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.models.fetch import FetchJob, fetch_model
from revocab.models.folder import ModelFolder
from revocab.product.export.export import export
from revocab.vocabulary.tokenizers.alphabets import LLAMA_CPP_SPLITTERS
from revocab.vocabulary.tokenizers.identity import golden_texts
from revocab.vocabulary.tokenizers.load import load_tokenizer


@pytest.fixture(scope="module")
def gguf(toys, tmp_path_factory):
    out = tmp_path_factory.mktemp("gguf") / "toy"
    export([str(toys / "untied"), "--to", "gguf", str(out), "--outtype", "bf16"])
    return out / "model.gguf"


def test_a_folder_has_the_weights_and_the_tokens_of_the_gguf(toys, gguf, tmp_path):
    out = tmp_path / "snapshot"
    fetch_model(out, FetchJob(), gguf)
    before = load_file(toys / "untied/model.safetensors")
    after = load_file(out / "model.safetensors")
    assert {*before} == {*after}
    for name, tensor in before.items():
        rows = len(after[name])  # a GGUF has no rows of padding
        assert torch.equal(tensor[:rows].bfloat16(), after[name]), name
    old, new = (load_tokenizer(folder) for folder in (toys / "untied", out))
    assert old.get_vocab() == new.get_vocab()
    manifest = read_json(tmp_path / "manifest.json")
    assert manifest["gguf"] == gguf.name and manifest["splitter"] is None  # a ``▁`` vocabulary
    assert sum(manifest["quantisation"].values()) == len(before)


def test_a_whole_folder_is_left_and_a_foreign_one_refused(gguf, tmp_path):
    out = tmp_path / "snapshot"
    fetch_model(out, FetchJob(), gguf)
    times = [file.stat().st_mtime_ns for file in sorted(out.iterdir())]
    fetch_model(out, FetchJob(), gguf)
    assert times == [file.stat().st_mtime_ns for file in sorted(out.iterdir())]
    (foreign := tmp_path / "foreign").mkdir()
    (foreign / "mine.txt").write_text("mine")
    with pytest.raises(RevocabError, match=r"foreign"):
        fetch_model(foreign, FetchJob(), gguf)
    assert (foreign / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("damage", ["empty", "text", "magic", "half", "all but the last bytes"])
def test_a_damaged_gguf_is_refused_and_leaves_nothing(gguf, tmp_path, damage):
    whole = gguf.read_bytes()
    content = {
        "empty": b"", "text": b"hello", "magic": b"GGUF", "half": whole[: len(whole) // 2],
        "all but the last bytes": whole[:-40],
    }[damage]  # fmt: skip
    (file := tmp_path / "damaged.gguf").write_bytes(content)
    with pytest.raises(RevocabError, match=r"damaged\.gguf"):
        fetch_model(tmp_path / "out/snapshot", FetchJob(), file)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path != file]


def test_a_gguf_in_place_of_a_folder_is_named_with_the_command(gguf, tmp_path):
    shutil.copy(gguf, tmp_path / "model.gguf")
    with pytest.raises(RevocabError, match=r"revocab fetch --path"):
        ModelFolder(tmp_path / "model.gguf")


@pytest.mark.parametrize("splitter", LLAMA_CPP_SPLITTERS, ids=lambda splitter: splitter.name)
def test_words_are_split_as_the_gguf_says(tmp_path, splitter):
    """transformers alone would split all of them into GPT-2's words."""
    corpora = prepared(tmp_path / "corpora")
    build_trained(mixture(corpora, it=1.0), "byte_level", 640, tmp_path / "trained", digits="none")
    state = json.loads(splitter.pre_tokenizer().__getstate__())
    changes = {"pre_tokenizer": state, "model__ignore_merges": splitter.takes_words}
    tokenizer = edited(load_tokenizer(tmp_path / "trained"), tmp_path / "tokenizer", **changes)
    model = build_model(tokenizer, tmp_path / "model")
    config = read_json(model / "tokenizer_config.json")
    config["clean_up_tokenization_spaces"] = splitter.cleans_spaces
    write_json(model / "tokenizer_config.json", config)
    export([str(model), "--to", "gguf", str(tmp_path / "gguf")])
    fetch_model(tmp_path / "snapshot", FetchJob(), tmp_path / "gguf/model.gguf")
    assert read_json(tmp_path / "manifest.json")["splitter"]
    before, after = load_tokenizer(model), load_tokenizer(tmp_path / "snapshot")
    for line in [text for text, _ in golden_texts(before)]:
        assert before(line)["input_ids"] == after(line)["input_ids"], line
