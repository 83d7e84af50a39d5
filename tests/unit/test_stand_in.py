"""Random stand-ins have the asked shape, ids and seed."""

from __future__ import annotations

import pytest
import torch
from toy_models import SOURCE_WORDS, build_model, build_tokenizer

from revocab.closed import checked
from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.models.parameters import Architecture


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return build_tokenizer(SOURCE_WORDS, 20, tmp_path_factory.mktemp("stand-in") / "tokenizer")


@pytest.mark.parametrize(("family", "tied"), [("mistral", False), ("llama", True)])
def test_stand_in_loads_with_its_tokenizer(tokenizer, tmp_path, family, tied):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    out = build_model(tokenizer, tmp_path / "out", family=family, tied=tied)
    model = AutoModelForCausalLM.from_pretrained(out)
    loaded = AutoTokenizer.from_pretrained(out)
    assert model.config.model_type == family
    assert model.config.tie_word_embeddings == tied
    assert model.config.vocab_size == len(loaded) == len(model.get_input_embeddings().weight)
    assert model.config.max_position_embeddings == 64
    assert (model.config.bos_token_id, model.config.eos_token_id) == (1, 2)
    assert model.generation_config.eos_token_id == 2
    assert model.dtype == torch.float32
    # No zero row, not even that of padding.
    assert (model.get_input_embeddings().weight.abs().sum(1) > 0).all()
    assert read_json(out / "manifest.json")["parameters"] == model.num_parameters()


def test_same_seed_same_bytes(tokenizer, tmp_path):
    torch.manual_seed(5)
    first = build_model(tokenizer, tmp_path / "a", seed=3)
    torch.manual_seed(6)
    second = build_model(tokenizer, tmp_path / "b", seed=3)
    other = build_model(tokenizer, tmp_path / "c", seed=4)
    weights = [(one / "model.safetensors").read_bytes() for one in (first, second, other)]
    assert weights[0] == weights[1] != weights[2]
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes(), file.name


def test_building_leaves_the_random_state_alone(tokenizer, tmp_path):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    build_model(tokenizer, tmp_path / "a", seed=3)
    assert torch.equal(torch.rand(1), expected)


def test_pad_that_doubles_as_eos_is_left_out_of_the_config(tokenizer, tmp_path):
    import shutil

    from transformers import AutoTokenizer

    folder = shutil.copytree(tokenizer, tmp_path / "tokenizer")
    loaded = AutoTokenizer.from_pretrained(folder)
    loaded.pad_token = "</s>"
    loaded.save_pretrained(folder)
    out = build_model(folder, tmp_path / "out")
    assert read_json(out / "config.json")["pad_token_id"] is None
    assert read_json(out / "generation_config.json")["pad_token_id"] == 2


def test_impossible_shapes_are_named():
    shape = {"family": "mistral", "hidden_size": 30, "intermediate_size": 8, "layers": 1}
    with pytest.raises(RevocabError, match="multiple of the next"):
        checked(Architecture, {**shape, "heads": 4, "kv_heads": 2})
    with pytest.raises(RevocabError, match="family"):
        checked(Architecture, {**shape, "family": "gpt", "heads": 2, "kv_heads": 1})
