"""Tensors with a row per source token beside embedding and head: named, never kept silently."""

from __future__ import annotations

import pytest
import torch
from toy_folders import adapt, assert_equal_logits, restore, shard
from toy_models import build_model

from revocab.errors import RevocabError
from revocab.initialise import adapted_model
from revocab.io import read_json, write_json
from revocab.models.folder import ModelFolder
from revocab.models.token_rows import further_tables, other_sizes

EMBEDDING = "model.embed_tokens.weight"


def with_tensors(toys, out, source="untied", config=None, **shapes):
    """A toy with further tensors (``__`` in their names is a dot) and settings."""
    extra = {name.replace("__", "."): torch.zeros(shape) for name, shape in shapes.items()}
    restore(toys / source, out, lambda tensors: tensors | extra)
    write_json(out / "config.json", {**read_json(out / "config.json"), **(config or {})})
    return out


def gpt2(out, rows, **sizes):
    from transformers import GPT2Config, GPT2LMHeadModel

    shape = {"n_positions": 64, "n_embd": 32, "n_layer": 1, "n_head": 2, **sizes}
    GPT2LMHeadModel(GPT2Config(vocab_size=rows, **shape)).save_pretrained(out)
    return ModelFolder(out)


def rows_of(toys):
    return ModelFolder(toys / "untied").tensors[EMBEDDING][1][0]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("model.embed_tokens_per_layer.weight", (0, 16)),
        ("mtp.embed.weight", (0, 32)),
        ("score.weight", (32, 0)),
        ("model.layers.0.table", (2, 0, 4)),
        ("final_logits_bias", (1, 0)),
        ("model.padded.weight", (9, 16)),
        ("model.by_key.weight", (777, 16)),
    ],
)
def test_a_further_table_is_an_error_before_any_computation(
    toys, tmp_path, monkeypatch, name, shape
):
    """0 stands for the number of tokens, 9 for nine padding rows more."""
    rows = rows_of(toys)
    shape = tuple(rows if size == 0 else rows + 9 if size == 9 else size for size in shape)
    config = {"vocab_size": rows + 9, "vocab_size_per_layer_input": 777}
    source = with_tensors(toys, tmp_path / "source", config=config, **{name: shape})
    with monkeypatch.context() as patch:
        patch.setattr(
            adapted_model, "initialise_matrices", lambda *_, **__: pytest.fail("computed")
        )
        with pytest.raises(RevocabError) as error:
            adapt(toys, tmp_path / "out", source)
    assert not (tmp_path / "out").exists()
    text = str(error.value)
    if shape[0] == rows:  # one that would be filled, if the architecture had it
        assert f"does not have: {name};" in text
        return
    assert f"{name} {list(shape)} has as many" in text
    assert "lapt" in text
    assert ("columns" in text) == (shape[0] not in (rows + 9, 777))


def test_all_tables_are_listed_of_every_shard(toys, tmp_path):
    rows = rows_of(toys)
    source = with_tensors(toys, tmp_path / "whole", a=(3, rows), b=(5, rows), c=(rows - 1, 3))
    with pytest.raises(RevocabError) as error:
        adapt(toys, tmp_path / "out", shard(source, tmp_path / "sharded"))
    assert [problem.split()[1] for problem in error.value.problems] == ["a", "b"]


def test_a_size_that_layers_have_too_is_no_evidence(toys, tmp_path):
    """A vocabulary as large as the layers are wide, as in toys."""
    rows = rows_of(toys)
    source = build_model(toys / "source-tokenizer", tmp_path / "inner", intermediate_size=rows)
    adapt(toys, tmp_path / "out", source)
    further_tables(gpt2(tmp_path / "wide", rows, n_embd=rows, n_head=1), rows)
    further_tables(gpt2(tmp_path / "fused", 4 * 32), 4 * 32)


def test_sizes_made_of_others_are_no_evidence():
    config = {
        "vocab_size": 900, "num_image_tokens": 901, "max_position_embeddings": 902,
        "sliding_window": 903, "rope_theta": 904, "eos_token_id": 905, "model_type": "x",
        "text_config": {
            "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 20,
            "intermediate_size": [100, 104],
        },
    }  # fmt: skip
    sizes = other_sizes(config)
    assert not sizes & {900, 901, 902, 903, 904, 905}
    assert sizes >= {64, 100, 104, 4, 2, 20, 80, 40, 160}
    assert 4 * 32 in other_sizes({"n_embd": 32, "n_head": 2, "n_inner": None})


def test_a_table_of_positions_is_none_of_tokens(toys, tmp_path):
    rows = rows_of(toys)
    model = gpt2(tmp_path / "gpt2", rows, n_positions=rows)
    assert model.tensors["transformer.wpe.weight"][1] == [rows, 32]
    further_tables(model, rows)


def copied(source, out, name):
    """Copy a model folder with its embedding stored once more."""
    return restore(source, out, lambda tensors: {**tensors, name: tensors[EMBEDDING].clone()})


HEADS = ["lm_head.weight", "embed_out.weight", "language_model.lm_head.weight"]


@pytest.mark.parametrize("name", HEADS)
def test_a_stored_copy_of_a_tied_head_is_dropped_whatever_its_name(toys, tmp_path, name):
    source = copied(toys / "tied", tmp_path / "stored", name)
    out = adapt(toys, tmp_path / "out", source)
    assert name not in ModelFolder(out).tensors
    assert_equal_logits(toys, toys / "tied", out)
    if name == "lm_head.weight":
        sharded = adapt(toys, tmp_path / "shards", shard(source, tmp_path / "sharded"))
        assert name not in ModelFolder(sharded).tensors
        assert_equal_logits(toys, toys / "tied", sharded)


def test_a_copy_of_the_embedding_elsewhere_is_an_error(toys, tmp_path):
    """Equal values do not make it a head: a module that is not tied would be left without rows."""
    source = copied(toys / "tied", tmp_path / "mtp", "mtp.weight")
    with pytest.raises(RevocabError, match=r"does not have: mtp\.weight"):
        adapt(toys, tmp_path / "out", source)
