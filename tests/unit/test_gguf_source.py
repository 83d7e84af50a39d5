"""A model that exists only as a GGUF: the folder that is made of it."""

from __future__ import annotations

import shutil

import pytest
import torch
from safetensors.torch import load_file

from revocab.errors import RevocabError
from revocab.export.export import export
from revocab.io import read_json
from revocab.models.fetch import FetchJob, fetch_model
from revocab.models.folder import ModelFolder
from revocab.tokenizers.load import load_tokenizer


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
    assert manifest["gguf"] == gguf.name
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
