"""Further tensors with a row per token: filled beside embedding and head, from their own rows."""

from __future__ import annotations

import pytest
import torch
from jobs import job_of
from sound_models import WITH_TABLES, write_sound
from toy_folders import adapt, initialise, load, shard
from training_pico import at, changed, run_of, write_inputs

from revocab.errors import RevocabError
from revocab.initialise.options import ChosenMethod, find_method, table_method
from revocab.initialise.rows.source_weights import read_source_weights
from revocab.initialise.target_matrix import with_all_rows
from revocab.io import read_json
from revocab.models.folder import ModelFolder
from revocab.models.load import check_model
from revocab.product.check.kind import look_at
from revocab.training.stages import Stage, names_of
from revocab.training.train import train
from revocab.vocabulary.tokenizers.load import load_tokenizer

TABLE = "model.embed_tokens_per_layer.weight"
MODELS = {
    "short": WITH_TABLES["gemma-3n"],
    "whole": WITH_TABLES["gemma-4"],
    "untied": WITH_TABLES["gemma-3n-untied"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory, toys):
    """Return a model with a table per layer, and the same adapted by a method, each made once."""
    root, done = tmp_path_factory.mktemp("tables"), {}

    def make(name, method="fvt", **options):
        key = "-".join([name, method, *map(str, options.values())])
        if key not in done:
            if not (root / name).exists():
                write_sound(MODELS[name], root / name)
            helper = toys / "helper" if find_method(method).needs_helper else None
            done[key] = initialise(
                root / name, root / key, method, options, helper=helper,
                target_tokenizer=toys / "target-tokenizer",
            )  # fmt: skip
        return root / name, done[key]

    return make


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_copied_or_the_mixture_of_the_embedding(made, name):
    source, out = made(name)
    weights = read_source_weights(out)["input"]
    old, new = (ModelFolder(folder).read(TABLE) for folder in (source, out))
    tokens = len(load_tokenizer(out))
    assert len(new) == tokens == ModelFolder(out).text_config["vocab_size_per_layer_input"]
    whole = with_all_rows(old, weights.source_rows)
    shared = weights.shared_S
    assert len(shared) and torch.equal(new[shared], whole[weights.source_of_shared()])
    mixed = weights.combine(whole.float())
    mixed[(mixed == 0).all(1)] = whole.float().mean(0)  # what padding alone would make
    mixed[shared] = whole[weights.source_of_shared()].float()
    assert torch.allclose(new.float(), mixed, rtol=2**-7, atol=1e-6)
    assert f"`{TABLE}`, which has a row per token" in (out / "README.md").read_text()
    described = read_json(out / "diagnostics.json")["tables"][TABLE]
    assert described["method"]["name"] == "fvt" and described["norm_copied"]["rows"] == len(shared)
    assert read_json(out / "provenance.json")["tables"][TABLE] == {
        "method": "fvt", "rows": tokens, "source_rows": len(old)
    }  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_states_of_copied_tokens_are_the_sources(made, name):
    source, out = made(name)
    check_model(out)
    assert not [finding for finding in look_at(out) if finding.severity == "error"]
    weights = read_source_weights(out)["input"]
    ids = weights.shared_S[:20]
    with torch.no_grad():
        expected = load(source)(weights.source_of_shared()[:20][None], output_hidden_states=True)
        received = load(out)(ids[None], output_hidden_states=True)
    for old, state in zip(expected.hidden_states, received.hidden_states, strict=True):
        assert torch.equal(state, old)


@pytest.mark.parametrize(
    ("method", "options", "filler"),
    [("mean", {}, "mean"), ("clp", {}, "clp"), ("random", {}, "fvt"), ("sava", {}, "fvt"),
     ("random", {"tables": "mean"}, "mean")],
)  # fmt: skip
def test_each_method_fills_them_or_says_which_does(made, method, options, filler):
    _, out = made("short", method, **options)
    assert read_json(out / "provenance.json")["tables"][TABLE]["method"] == filler
    table, other = (ModelFolder(folder).read(TABLE) for folder in (out, made("short", filler)[1]))
    assert torch.equal(table, other)
    assert table.isfinite().all()


def test_options_name_methods_that_can():
    for name in ("sava", "clp", "lapt", "nothing"):
        with pytest.raises(RevocabError, match="those that do: asymmetric, fvt, "):
            job_of(ChosenMethod, method="random", tables=name)
    chosen = job_of(ChosenMethod, method="clp", tables="clp", top_k=3)
    assert table_method(find_method("clp"), chosen) == (find_method("clp"), chosen)


def test_an_option_without_a_table_is_refused(toys, tmp_path):
    with pytest.raises(RevocabError, match="no tensor with a row per token beside"):
        adapt(toys, tmp_path / "out", options={"tables": "fvt"})


def test_shards_get_the_same_rows(made, toys, tmp_path):
    source, out = made("short")
    again = initialise(
        shard(source, tmp_path / "shards"), tmp_path / "out", "fvt",
        target_tokenizer=toys / "target-tokenizer",
    )  # fmt: skip
    first, second = ModelFolder(out), ModelFolder(again)
    assert first.tensors.keys() == second.tensors.keys() and len(second.files) == 3
    for name in first.tensors:
        assert torch.equal(first.read(name), second.read(name))


def test_padding_leaves_the_table_alone(made):
    _, plain = made("short")
    _, out = made("short", pad_to=64)
    check_model(out)
    assert torch.equal(ModelFolder(out).read(TABLE), ModelFolder(plain).read(TABLE))


@pytest.mark.parametrize("name", MODELS)
def test_stages_train_them_with_the_embedding(made, name):
    model = load(made(name)[1])
    named = [*model.named_parameters()]
    rows = {"model.embed_tokens.weight", TABLE}
    head = {"lm_head.weight"} if name == "untied" else set()
    assert names_of(model, named, "input_embeddings", 0) == rows
    for group in ("embeddings", "new_rows"):
        assert names_of(model, named, group, 0) == rows | head


def test_training_moves_new_rows_alone_and_saves_them(made, tmp_path):
    folder = made("short")[1]
    inputs = write_inputs(tmp_path / "inputs")
    stage = Stage(name="rows", steps=2, learning_rate=1e-2, train=["new_rows"])
    run = run_of(inputs, tmp_path / "out", stages=(stage,), steps=2, checkpoint_every=2)
    train(changed(run, model=folder))
    out = at(tmp_path / "out", 2)
    check_model(out)
    before, after = (ModelFolder(path) for path in (folder, out))
    shared = read_source_weights(folder)["input"].shared_S
    assert before.tensors.keys() == after.tensors.keys()
    for name in (TABLE, "model.embed_tokens.weight"):
        assert torch.equal(before.read(name)[shared], after.read(name)[shared])
    assert load(out).model.embed_tokens_per_layer.weight.shape == tuple(after.tensors[TABLE][1])
