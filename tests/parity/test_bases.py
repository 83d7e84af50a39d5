"""Bases of the field: a new vocabulary, a step of training, fewer tokens; the body is the same."""

from __future__ import annotations

import pytest
import torch
from bases import BASES, build_base
from toy_folders import adapt
from training_pico import RECIPE

from revocab.io import read_json
from revocab.models.folder import ModelFolder
from revocab.models.load import load_causal_lm
from revocab.product.check.kind import look_at
from revocab.product.trim import trim
from revocab.training.run import Settings, TrainingRun
from revocab.training.train import train
from revocab.vocabulary.tokenizers.load import load_tokenizer

#: Of each sort one is tried in every run of the tests.
ALWAYS = ("llama", "gpt_oss", "nemotron_h", "gemma3")
EACH = [pytest.param(name, marks=[] if name in ALWAYS else pytest.mark.long) for name in BASES]


@pytest.fixture(scope="module", params=EACH)
def base(request, toys, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bases") / request.param
    return build_base(request.param, toys / "source-tokenizer", folder)


def tensors_but_rows(folder):
    model = ModelFolder(folder)
    names = model.tensors.keys() - {*model.vocabulary_names.values(), *model.tied_copies}
    return {name: model.read(name) for name in names}


def assert_same_body(source, out):
    before, after = tensors_but_rows(source), tensors_but_rows(out)
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)


def errors_in(folder):
    return [finding.line(folder) for finding in look_at(folder) if finding.severity == "error"]


def text_settings(folder):
    config = read_json(folder / "config.json")
    return config.get("text_config", config)


def test_a_new_vocabulary_and_a_step_of_training(toys, base, texts, tmp_path):
    out = adapt(toys, tmp_path / "adapted", source=base)
    assert errors_in(out) == []
    assert_same_body(base, out)
    rows = len(load_tokenizer(toys / "target-tokenizer"))
    assert text_settings(out)["vocab_size"] == rows
    settings = Settings(**{**RECIPE, "steps": 1, "warmup_steps": 0, "checkpoint_every": 1})
    folders = {"model": out, "packed": texts / "packed", "heldout": texts / "heldout"}
    train(TrainingRun(**folders, out=tmp_path / "run", settings=settings))
    trained = tmp_path / "run/checkpoints/step-000001"
    assert errors_in(trained) == []
    for name in ModelFolder(trained).vocabulary_names.values():
        assert not torch.equal(ModelFolder(trained).read(name), ModelFolder(out).read(name))
    model = load_causal_lm(trained, dtype="float32")
    for layer in (model.get_input_embeddings(), model.get_output_embeddings()):
        assert len(layer.weight) == rows


def test_fewer_tokens(base, tmp_path):
    (tmp_path / "en.txt").write_text("the cat sat on the mat\n\nthe dog ran\n", encoding="utf-8")
    out = tmp_path / "trimmed"
    trim([str(base), f"en={tmp_path / 'en.txt'}", "--keep", "280", "--out", str(out)])
    assert errors_in(out) == []
    assert_same_body(base, out)
    kept = torch.tensor(read_json(out / "kept_ids.json"))
    before, after = (load_causal_lm(folder, dtype="float32") for folder in (base, out))
    ids = torch.arange(3, 40)
    with torch.no_grad():
        expected, received = before(kept[ids][None]).logits[..., kept], after(ids[None]).logits
    torch.testing.assert_close(received, expected, rtol=0, atol=1e-5)
