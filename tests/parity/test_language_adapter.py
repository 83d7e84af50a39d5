"""A language as an adapter: with PEFT on the resized base, the logits of the checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from toy_folders import adapt
from toy_models import build_model
from training_pico import RECIPE, at

from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.models.folder import ModelFolder
from revocab.models.load import load_causal_lm
from revocab.product.export.export import export
from revocab.training.run import Settings, TrainingRun
from revocab.training.stages import Stage
from revocab.training.train import train
from revocab.vocabulary.tokenizers.load import load_tokenizer

STAGES = (
    Stage(name="rows", steps=2, learning_rate=1e-2, train=["new_rows"]),
    Stage(name="body", steps=2, learning_rate=1e-2, train=["lora"],
          lora={"rank": 2, "alpha": 4, "layers": [-1], "modules": ["attention"]}),
)  # fmt: skip
ROWS, BODY = 2, 4


@pytest.fixture(scope="module")
def trainings(toys, texts, tmp_path_factory):
    """Return a base and the run that began with it in a new vocabulary, by name, made once.

    The tied one has rows of padding, too.
    """
    runs = {}

    def trained(name):
        if name not in runs:
            folder = tmp_path_factory.mktemp(name)
            options = {"pad_to": 64} if name == "tied" else {}
            model = adapt(toys, folder / "adapted", source=name, options=options)
            steps = {"steps": 4, "warmup_steps": 0, "checkpoint_every": 2, "stages": STAGES}
            run = TrainingRun(
                model=model, packed=texts / "packed", heldout=texts / "heldout",
                out=folder / "run", settings=Settings(**{**RECIPE, **steps}),
            )  # fmt: skip
            train(run)
            runs[name] = toys / name, folder / "run"
        return runs[name]

    return trained


def adapter_of(checkpoint, base, out):
    return export([str(word) for word in (checkpoint, out, "--to", "adapter", "--base", base)])


def differing_rows(checkpoint, base, which, tokens):
    new, old = (ModelFolder(folder).read(ModelFolder(folder).vocabulary_tensors[which])
                for folder in (checkpoint, base))  # fmt: skip
    return [n for n in range(tokens) if n >= len(old) or not torch.equal(new[n], old[n])]


@pytest.mark.parametrize("step", [ROWS, BODY])
@pytest.mark.parametrize("name", ["untied", "tied"])
def test_peft_gives_the_logits_of_the_checkpoint(
    trainings, repository, tmp_path, monkeypatch, name, step
):
    base, run = trainings(name)
    monkeypatch.chdir(tmp_path)
    Path("BASE").symlink_to(base)
    printed = adapter_of(at(run, step), "BASE", "italian")
    page = (repository / "docs/ship.md").read_text(encoding="utf-8")
    block = page.partition("```python\n")[2].partition("```")[0]
    names: dict = {}
    exec(compile(block, "docs/ship.md", "exec"), names)
    model, tokens = names["model"].eval(), len(names["tokenizer"])
    assert isinstance(model, PeftModel)
    assert names["tokenizer"].get_vocab() == load_tokenizer(at(run, step)).get_vocab()
    generation = read_json(at(run, step) / "generation_config.json")
    assert model.generation_config.eos_token_id == generation["eos_token_id"]
    ids = torch.randint(3, tokens, (2, 24), generator=torch.manual_seed(0))
    with torch.no_grad():
        expected = load_causal_lm(at(run, step), dtype="float32")(ids).logits
        torch.testing.assert_close(model(ids).logits, expected, rtol=0, atol=1e-5)
        with model.disable_adapter():
            assert (model(ids).logits - expected).abs().max() > 0.01
        merged = model.merge_and_unload()
        torch.testing.assert_close(merged(ids).logits, expected, rtol=0, atol=1e-5)
    # Nothing but rows that differ, and the factors of the run.
    tensors, config = (
        load_file("italian/adapter_model.safetensors"),
        read_json(Path("italian/adapter_config.json")),
    )
    differing = {
        module: differing_rows(at(run, step), base, which, tokens)
        for which, module in {"input": "model.embed_tokens", "output": "lm_head"}.items()
        if which in ModelFolder(base).vocabulary_tensors
    }
    rows = {key: len(tensor) for key, tensor in tensors.items() if "trainable_tokens" in key}
    assert config["trainable_token_indices"] == differing
    assert [len(ids) for ids in differing.values()] == [*rows.values()]
    factors = {}
    if step == BODY:
        kept = load_file(run / f"adapters/{at(run, step).name}/adapter_model.safetensors")
        factors = {key: tensor for key, tensor in kept.items() if "lora" in key}
    assert len(factors) == 8 * (step == BODY) and tensors.keys() - rows.keys() == factors.keys()
    assert all(torch.equal(tensors[key], factors[key]) for key in factors)
    size = Path("italian/adapter_model.safetensors").stat().st_size
    assert f"{size:,} bytes" in printed and "%" in printed
    card = Path("italian/README.md").read_text(encoding="utf-8")
    assert block in card.replace("this/folder", "italian")


MODULE = "base_model.model.model.layers.1.self_attn.{}.lora_{}.weight"
A, B = (MODULE.format("q_proj", factor) for factor in "AB")
OTHER = {MODULE.format("r_proj", factor): key for factor, key in (("A", A), ("B", B))}
#: What is changed in the checkpoint's tensors, in those of the adapter beside it, or in its alpha.
CHECKPOINT, FACTORS, ALPHA = "model.safetensors", "adapter_model.safetensors", "lora_alpha"
DAMAGES = {
    "norm": (CHECKPOINT, lambda own: own["model.norm.weight"].add_(0.01),
             "model.norm.weight differs; allowed are"),
    "nan": (FACTORS, lambda own: own[A].fill_(float("nan")), "q_proj.lora_A.weight, 2 of 2 rows"),
    "other values": (FACTORS, lambda own: own[B].add_(0.01),
                     "layers.1.self_attn.q_proj.weight is not the base's with its factors"),
    "half a pair": (FACTORS, lambda own: own.pop(B), "q_proj: no A and B"),
    "another module": (FACTORS,
                       lambda own: own.update({key: own[OTHER[key]].clone() for key in OTHER}),
                       "it has no model.layers.1.self_attn.r_proj"),
    "another alpha": (ALPHA, 8, "q_proj.weight is not the base's with its factors"),
    "a negative alpha": (ALPHA, -4, "lora_alpha is -4"),
    "an alpha in words": (ALPHA, "4", "lora_alpha is '4'"),
    "absent": (None, shutil.rmtree, "layers.1.self_attn.k_proj.weight differs; allowed are"),
    "link": (None, lambda lora: link_out(lora / FACTORS), "a link out of its folder"),
}  # fmt: skip


def link_out(file):
    shutil.move(file, file.parents[2] / "elsewhere")
    file.symlink_to(file.parents[2] / "elsewhere")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_checkpoint_that_is_more_than_its_adapter_is_refused(trainings, tmp_path, damage):
    base, run = trainings("untied")
    checkpoint = at(shutil.copytree(run, tmp_path / "run"), BODY)
    where, change, place = DAMAGES[damage]
    lora = tmp_path / "run/adapters" / checkpoint.name
    if where is None:
        change(lora)
    elif where == ALPHA:
        config = read_json(lora / "adapter_config.json")
        write_json(lora / "adapter_config.json", {**config, ALPHA: change})
    else:
        file = (checkpoint if where == CHECKPOINT else lora) / where
        tensors = load_file(file)
        change(tensors)
        save_file(tensors, file, metadata={"format": "pt"})
    with pytest.raises(RevocabError) as caught:
        adapter_of(checkpoint, base, tmp_path / "out")
    assert place in "\n".join(caught.value.problems)
    assert not (tmp_path / "out").exists()


def test_another_base_is_refused(trainings, toys, tmp_path):
    base, run = trainings("untied")
    other = build_model(toys / "source-tokenizer", tmp_path / "other", seed=9)
    for folder, place in {
        other: "model.layers.0.mlp.down_proj.weight differs",
        toys / "helper": "hidden_size of config.json is 24",
        toys / "tied": "tie_word_embeddings of config.json is True",
        tmp_path / "absent": "no such",
    }.items():
        with pytest.raises(RevocabError) as caught:
            adapter_of(at(run, BODY), folder, tmp_path / "out")
        assert place in "\n".join(caught.value.problems), folder
    with pytest.raises(RevocabError, match="no tensor differs"):
        adapter_of(base, base, tmp_path / "out")
    for words in (["--to", "adapter"], ["--to", "gguf", "--base", str(base)]):
        with pytest.raises(RevocabError, match="--base"):
            export([str(at(run, BODY)), str(tmp_path / "out"), *words])
    assert not (tmp_path / "out").exists()
