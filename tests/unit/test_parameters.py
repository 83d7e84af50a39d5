"""Parameter counts of the paper's Table 1, exactly; random stand-ins of a shape, ids and seed."""

from __future__ import annotations

import shutil

import pytest
import torch
from toy_models import SOURCE_WORDS, build_model, build_tokenizer

from revocab.closed import checked
from revocab.errors import RevocabError
from revocab.io import read_csv, read_json
from revocab.models.parameters import (
    Architecture,
    ParameterCount,
    config_parameters,
    model_config,
    write_parameters,
)

SHAPE = {"hidden_size": 4096, "intermediate_size": 14336, "layers": 32, "heads": 32, "kv_heads": 8}


def count(architecture, vocabulary_size):
    return config_parameters(model_config(architecture, vocabulary_size))


@pytest.mark.parametrize(
    ("family", "vocabulary_size", "expected"),
    [
        ("mistral", 32000, 7_241_732_096),  # Mistral-7B-v0.1: 7.24B
        ("mistral", 32768, 7_248_023_552),  # adapted with Minerva: 7.25B
        ("llama", 128256, 8_030_261_248),  # Llama-3.1-8B: 8.03B
        ("llama", 32768, 7_248_023_552),  # adapted with Minerva: 7.25B
    ],
)
def test_counts_of_real_models(family, vocabulary_size, expected):
    assert count(Architecture(family=family, **SHAPE), vocabulary_size) == expected


def test_tied_matrix_counts_once():
    small = {**SHAPE, "layers": 1, "hidden_size": 64, "intermediate_size": 128, "heads": 4}
    small["kv_heads"] = 2
    untied = count(Architecture(family="llama", **small), 1000)
    tied = count(Architecture(family="llama", tied=True, **small), 1000)
    assert untied - tied == 1000 * 64


def test_table_is_written(tmp_path):
    entry = {"label": "m", "vocabulary_size": 32000, "architecture": {"family": "mistral", **SHAPE}}
    write_parameters([ParameterCount(**entry)], tmp_path / "parameters.csv")
    assert read_csv(tmp_path / "parameters.csv") == [
        {"label": "m", "vocabulary_size": "32000", "family": "mistral", "parameters": "7241732096"}
    ]


# Stand-ins --------------------------------------------------------------------------------------


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


def test_same_seed_same_bytes_whatever_the_random_state_which_is_left_alone(tokenizer, tmp_path):
    models = []
    for state, seed in enumerate((3, 3, 4)):
        torch.manual_seed(state)
        models.append(build_model(tokenizer, tmp_path / str(state), seed=seed))
    after = torch.rand(1)
    torch.manual_seed(2)
    assert torch.equal(after, torch.rand(1))
    weights = [(model / "model.safetensors").read_bytes() for model in models]
    assert weights[0] == weights[1] != weights[2]
    for file in models[0].iterdir():
        assert file.read_bytes() == (models[1] / file.name).read_bytes(), file.name


def test_pad_that_doubles_as_eos_is_left_out_of_the_config(tokenizer, tmp_path):
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
