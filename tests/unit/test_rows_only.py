"""Embedding and head of a repository alone: of its shards those that hold them, what is read."""

from __future__ import annotations

import json
import pickle
import shutil

import own_code_models
import pytest
import torch
from own_code_models import EMBEDDING, HEAD, shard_name

from revocab.errors import RevocabError
from revocab.experiment import validate
from revocab.io import read_json
from revocab.models.fetch import read_rows, vocabulary_names
from revocab.models.folder import ModelFolder
from revocab.models.load import check_model
from revocab.vocabulary.tokenizers.load import load_tokenizer

ROWS = 320
#: Repositories: how shards end, and whether one matrix is both.
LAYOUTS = {"pickled": ("bin", False), "tied": ("bin", True), "safe": ("safetensors", False)}


@pytest.fixture(scope="module")
def stored():
    """The tensors of each repository, once the Hub is filled."""
    return {}


@pytest.fixture(scope="module")
def root(tmp_path_factory, toys, stored):
    root = tmp_path_factory.mktemp("hub")
    for name, (ending, tied) in LAYOUTS.items():
        out = root / "models/own" / name / "main"
        layout = {"rows": ROWS, "ending": ending, "tied": tied}
        stored[name] = own_code_models.write_model(toys / "target-tokenizer", out, **layout)
        for number in (2, 3) if tied else (2,):  # what is not asked for need not be there
            (out / shard_name(number, ending)).unlink()
    shutil.copytree(toys / "untied", root / "models/own/single/main")
    return root


@pytest.fixture
def fetch(job, hub, tmp_path):
    def run(name: str, *words: str):
        place = ["--out", tmp_path / name / "snapshot", *words]
        job("fetch_model", "--hub", f"own/{name}", *place)

    return run


@pytest.mark.parametrize("name", LAYOUTS)
def test_only_shards_with_embedding_and_head_are_fetched(fetch, stored, tmp_path, name):
    _, tied = LAYOUTS[name]
    fetch(name, "--vocabulary-only")
    folder = ModelFolder(tmp_path / name / "snapshot")
    assert torch.equal(folder.matrix("input", ROWS), stored[name][EMBEDDING])
    assert torch.equal(folder.matrix("output", ROWS), stored[name][EMBEDDING if tied else HEAD])
    assert (folder.tied, folder.files) == (tied, ["model.safetensors"])
    check_model(folder.path)
    assert len(load_tokenizer(folder.path)) <= ROWS
    manifest = read_json(tmp_path / name / "manifest.json")
    assert manifest["hub"] == f"own/{name}" and manifest["vocabulary_only"] is True
    for pattern in ("*.bin", "*.index.json", "*.py"):
        assert not list(folder.path.glob(pattern))


def test_one_file_of_weights_is_read_for_its_two_matrices(fetch, toys, tmp_path):
    fetch("single", "--vocabulary-only")
    folder, whole = ModelFolder(tmp_path / "single/snapshot"), ModelFolder(toys / "untied")
    for which in ("input", "output"):
        assert torch.equal(folder.matrix(which, 1), whole.matrix(which, 1))
    assert folder.config["num_hidden_layers"] == 0


def test_whole_a_model_with_code_of_its_own_is_refused(fetch):
    with pytest.raises(RevocabError, match="no safetensors weights"):
        fetch("pickled")


@pytest.fixture
def config(tmp_path):
    """Write a folder's config.json with keys; return the folder."""

    def write(**keys):
        (tmp_path / "config.json").write_text(json.dumps(keys), encoding="utf-8")
        return tmp_path

    return write


def test_names_of_matrices_are_told_by_their_ends(config):
    names = ["model.layers.0.mlp.up_proj.weight", "model.embed_tokens.weight", "lm_head.weight"]
    both = {"input": names[1], "output": names[2]}
    assert vocabulary_names(config(), names) == both
    assert vocabulary_names(config(tie_word_embeddings=False), names) == both
    assert vocabulary_names(config(tie_word_embeddings=True), names) == {"input": names[1]}
    assert vocabulary_names(config(), ["wte.weight"]) == {"input": "wte.weight"}
    with pytest.raises(RevocabError) as caught:
        vocabulary_names(config(tie_word_embeddings=False), ["a.wte.weight", "b.wte.weight"])
    first, second = caught.value.problems
    assert "2 tensors (a.wte.weight, b.wte.weight)" in first and "0 tensors (none)" in second


class Harmful:
    def __reduce__(self):
        return print, ("a pickle was run",)


def test_a_pickle_that_is_more_than_tensors_is_refused(tmp_path, capsys):
    path = tmp_path / "pytorch_model.bin"
    torch.save({"wte.weight": Harmful()}, path)
    with pytest.raises(RevocabError, match="not a file of tensors alone"):
        read_rows(path, "wte.weight")
    path.write_bytes(pickle.dumps({"wte.weight": Harmful()}))
    with pytest.raises(RevocabError, match="not a file of tensors alone"):
        read_rows(path, "wte.weight")
    assert "a pickle was run" not in capsys.readouterr().out


def test_files_of_old_torch_are_read(tmp_path):
    rows = torch.arange(6.0).reshape(3, 2)
    torch.save({"wte.weight": rows}, tmp_path / "old.bin", _use_new_zipfile_serialization=False)
    assert torch.equal(read_rows(tmp_path / "old.bin", "wte.weight"), rows)


def test_it_serves_as_helper_alone(demo):
    """The demo's helper from the Hub: refused where it would also have to generate text."""
    name = demo["runs"]["mistral"]["helper"]
    tokenizer = demo["models"][name]["tokenizer"]
    demo["models"]["rows"] = {"tokenizer": tokenizer, "hub": "o/model", "vocabulary_only": True}
    demo["runs"]["mistral"]["helper"] = "rows"
    assert validate(demo).models["rows"].vocabulary_only
    demo["runs"]["mistral"]["references"] = {"other": {"model": "rows", "label": "X"}}
    with pytest.raises(RevocabError) as caught:
        validate(demo)
    (problem,) = caught.value.problems
    place = "runs.mistral.references.other.model: model 'rows' is vocabulary_only"
    assert problem.startswith(place)
    local = {"tokenizer": tokenizer, "path": "x", "vocabulary_only": True}
    with pytest.raises(RevocabError, match="vocabulary_only is for a model from the Hub"):
        validate({**demo, "models": {"rows": local}})
