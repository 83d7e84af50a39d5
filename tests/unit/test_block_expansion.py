"""Block expansion: which blocks are new, what is in them, and that they compute nothing."""

from __future__ import annotations

import pytest
import torch
from change_toys import TEXT, changed, logits, tensors_of, write_architecture
from safetensors.torch import load_file, save_file
from toy_folders import adapt, cast, shard, with_settings

from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.models.changes.blocks import ADDED_BLOCKS, BlockOptions, Expansion
from revocab.models.folder import INDEX, ModelFolder
from revocab.models.load import check_model
from revocab.models.parameters import Architecture, config_parameters, model_config
from revocab.models.weights import read_header
from revocab.training.stages import Stage, StagePlan

O_PROJ, DOWN = "self_attn.o_proj", "mlp.down_proj"


# Which blocks. -----------------------------------------------------------------------------------


def test_a_copy_stands_after_every_fourth_of_32_blocks():
    found = Expansion.of(32, 0.25)
    assert found.added == (4, 9, 14, 19, 24, 29, 34, 39)
    assert found.origin[:6] == (0, 1, 2, 3, 3, 4) and found.origin[-2:] == (31, 31)


@pytest.mark.parametrize("blocks", [1, 2, 6, 12, 28, 32, 80, 126])
def test_every_divisor_works_at_four_digits(blocks):
    for new in [number for number in range(1, blocks + 1) if blocks % number == 0]:
        found = Expansion.of(blocks, float(f"{new / blocks:.4g}"))
        assert len(found.added) == new and len(found.origin) == blocks + new
        originals = [origin for n, origin in enumerate(found.origin) if n not in found.added]
        assert originals == [*range(blocks)]
        assert all(found.origin[n] == found.origin[n - 1] for n in found.added)
        assert {b - a for a, b in zip(found.added, found.added[1:], strict=False)} <= {
            blocks // new + 1
        }
        assert found.added[-1] == blocks + new - 1


@pytest.mark.parametrize(("blocks", "share"), [(32, 0.3), (32, 0.75), (12, 0.1), (32, 0.001)])
def test_other_shares_are_refused_with_those_that_work(blocks, share):
    with pytest.raises(RevocabError, match=f"share {share} of {blocks} blocks is") as caught:
        BlockOptions(share=share).blocks_after(blocks)
    assert "0.25 (" in str(caught.value) and f"1 ({blocks} new)" in str(caught.value)


def test_llama_2_7b_has_its_40_layers_worth_of_parameters():
    shape = {"hidden_size": 4096, "intermediate_size": 11008, "heads": 32, "kv_heads": 32}
    config = model_config(Architecture(family="llama", layers=32, **shape), 32000)
    assert config_parameters(config) == 6_738_415_616
    settings = Expansion.of(32, 0.25).settings(config.to_dict())
    assert settings == {"num_hidden_layers": 40}
    assert config_parameters(type(config).from_dict({**config.to_dict(), **settings})) == (
        8_357_482_496
    )


# What is in them. --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "origin", "new"), [(0.5, (0, 1, 1), {2}), (1.0, (0, 0, 1, 1), {1, 3})]
)
def test_two_layers_tensor_by_tensor(toys, tmp_path, share, origin, new):
    before = load_file(toys / "untied" / "model.safetensors")
    out = changed("blocks", toys / "untied", tmp_path / "out", share=share)
    after = load_file(out / "model.safetensors")
    expected = {name: tensor for name, tensor in before.items() if ".layers." not in name}
    for number, source in enumerate(origin):
        for name, tensor in before.items():
            if name.startswith(f"model.layers.{source}."):
                rest = name.removeprefix(f"model.layers.{source}.")
                zero = number in new and rest in (f"{O_PROJ}.weight", f"{DOWN}.weight")
                expected[f"model.layers.{number}.{rest}"] = tensor * (not zero)
    assert after.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(after[name], tensor) and after[name].dtype == tensor.dtype, name
    zeros = {name for name, tensor in after.items() if not tensor.any()}
    assert zeros == {f"model.layers.{n}.{w}.weight" for n in new for w in (O_PROJ, DOWN)}
    check_model(out)
    config = read_json(out / "config.json")
    old = read_json(toys / "untied" / "config.json")
    assert config == {**old, "num_hidden_layers": len(origin), ADDED_BLOCKS: sorted(new)}
    manifest = read_json(out / "manifest.json")
    assert manifest["change"] == "blocks" and manifest[ADDED_BLOCKS] == sorted(new)
    assert manifest["options"] == {"share": share} and manifest["blocks"] == len(origin)


def test_everything_else_is_the_source(toys, tmp_path):
    out = changed("blocks", toys / "untied", tmp_path / "out", share=0.5)
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        assert (out / name).read_bytes() == (toys / "untied" / name).read_bytes()
    assert "new, counted from 0: 2" in (out / "README.md").read_text()
    assert str(tmp_path) not in (out / "manifest.json").read_text()
    again = changed("blocks", toys / "untied", tmp_path / "again", share=0.5)
    for file in out.iterdir():
        assert file.read_bytes() == (again / file.name).read_bytes(), file.name


def test_new_tensors_stand_in_the_file_of_their_originals(toys, tmp_path):
    source = shard(toys / "untied", tmp_path / "source")
    index = read_json(source / INDEX)
    whole = sum(tensor.numel() for tensor in tensors_of(source).values())
    index["metadata"]["total_parameters"] = whole
    # A file without any block: nothing in it changes.
    head = index["weight_map"]["lm_head.weight"]
    rest = load_file(source / head)
    save_file({"lm_head.weight": rest.pop("lm_head.weight")}, source / "head.safetensors")
    save_file(rest, source / head, {"format": "pt"})
    index["weight_map"]["lm_head.weight"] = "head.safetensors"
    write_json(source / INDEX, index)

    out = changed("blocks", source, tmp_path / "out", share=1.0)
    model, old = ModelFolder(out), ModelFolder(source)
    assert model.files == old.files
    for name, (file, _) in old.tensors.items():
        prefix, dot, rest = name.partition(".layers.")
        number, _, rest = rest.partition(".")
        places = [f"{prefix}{dot}{2 * int(number) + n}.{rest}" for n in (0, 1)] if dot else [name]
        assert {model.tensors[place][0] for place in places} == {file}
    assert (out / "head.safetensors").samefile(source / "head.safetensors")
    assert read_header(out / head)[0]["__metadata__"] == {"format": "pt"}
    stored = tensors_of(out).values()
    metadata = read_json(out / INDEX)["metadata"]
    assert metadata["total_parameters"] == sum(tensor.numel() for tensor in stored)
    assert metadata["total_size"] == sum(tensor.nbytes for tensor in stored)


# What they compute. ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "sharded", "stored"),
    [
        ("untied", False, torch.float32),
        ("untied", True, torch.bfloat16),
        ("tied", True, torch.float32),
        ("tied", False, torch.bfloat16),
    ],
)
def test_logits_are_the_source_bit_for_bit(toys, tmp_path, source, sharded, stored):
    folder = cast(toys / source, tmp_path / "stored", stored)
    if sharded:
        folder = shard(folder, tmp_path / "sharded")
    out = changed("blocks", folder, tmp_path / "out", share=0.5)
    assert {tensor.dtype for tensor in tensors_of(out).values()} == {stored}
    for dtype in (torch.float32, torch.bfloat16):
        expected = logits(folder, dtype)
        assert expected.dtype == dtype and expected.std() > 0.01
        assert torch.equal(logits(out, dtype), expected)
    assert ModelFolder(out).tied == (source == "tied")
    assert ("lm_head.weight" in ModelFolder(out).tensors) == (source == "untied")


SLIDING = {"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"] * 2}
#: With biases, norms elsewhere, residuals in parallel or scaled, and layers of several types.
KINDS = {
    "llama": {"attention_bias": True, "mlp_bias": True},
    "qwen2": {**SLIDING, "use_sliding_window": True},
    "qwen3": {**SLIDING, "use_sliding_window": True, "head_dim": 8},
    "gemma": {"head_dim": 8},
    "gemma2": {"sliding_window": 8, "head_dim": 8},
    "smollm3": {"no_rope_layer_interval": 2},
    "granite": {"residual_multiplier": 0.3},
    "cohere": {},
    "olmo2": {},
}


@pytest.mark.parametrize("kind", KINDS)
def test_other_architectures(toys, tmp_path, kind):
    tokenizer = toys / "source-tokenizer"
    source = write_architecture(tokenizer, tmp_path / "source", kind, **KINDS[kind])
    out = changed("blocks", source, tmp_path / "out", share=0.5)
    for dtype in (torch.float32, torch.bfloat16):
        assert torch.equal(logits(out, dtype), logits(source, dtype))
    new = tensors_of(out)
    biases = {f"model.layers.2.{module}.bias" for module in (O_PROJ, DOWN)} & new.keys()
    assert len(biases) == (2 if kind == "llama" else 0)
    assert not any(new[name].any() for name in biases)


def test_settings_by_layer_are_copied_with_the_layers(toys, tmp_path):
    """Also those that config.json leaves to the architecture, which would count them anew."""
    tokenizer = toys / "source-tokenizer"
    source = write_architecture(tokenizer, tmp_path / "source", "gemma2", head_dim=8)
    config = read_json(source / "config.json")
    config.pop("layer_types")
    config["eos_token_id"] = [2, 5, 7, 9]  # as many as layers, but none by layer
    write_json(source / "config.json", config)
    out = changed("blocks", source, tmp_path / "out", share=0.5)
    sliding, full = "sliding_attention", "full_attention"
    expected = [sliding, full, full, sliding, full, full]
    config = read_json(out / "config.json")
    assert config["layer_types"] == expected and config["eos_token_id"] == [2, 5, 7, 9]


def test_only_what_new_blocks_write_has_a_gradient_at_first(toys, tmp_path):
    from transformers import AutoModelForCausalLM

    out = changed("blocks", toys / "untied", tmp_path / "out", share=0.5)
    model = AutoModelForCausalLM.from_pretrained(out)
    model(TEXT, labels=TEXT).loss.backward()
    (new,) = model.config.added_blocks
    moved = {
        name.removeprefix(f"model.layers.{new}.")
        for name, parameter in model.named_parameters()
        if name.startswith(f"model.layers.{new}.") and parameter.grad.any()
    }
    assert moved == {f"{O_PROJ}.weight", f"{DOWN}.weight"}


def trained_names(model, *groups):
    """Return the parameters that a stage with these names of groups trains."""
    stage = Stage(name="one", train=list(groups), steps=1, learning_rate=1e-3)
    rated = StagePlan([stage]).groups(model)
    return {name for group in rated if group.rates[0] is not None for name in group.names}


def test_a_stage_trains_the_added_blocks_alone(toys, tmp_path):
    from transformers import AutoModelForCausalLM

    out = changed("blocks", toys / "untied", tmp_path / "out", share=0.5)
    model = AutoModelForCausalLM.from_pretrained(out)
    named = {name for name, _ in model.named_parameters()}
    added = {name for name in named if name.startswith("model.layers.2.")}
    assert model.config.added_blocks == [2] and added
    assert trained_names(model, "added_blocks") == added
    matrices = {"model.embed_tokens.weight", "lm_head.weight"}
    assert trained_names(model, "added_blocks", "embeddings") == added | matrices
    plain = AutoModelForCausalLM.from_pretrained(toys / "untied")
    with pytest.raises(RevocabError) as caught:
        trained_names(plain, "added_blocks")
    (problem,) = caught.value.problems
    assert "'added_blocks' fits no parameter" in problem


# What is done with the result. -------------------------------------------------------------------


def test_new_blocks_are_known_after_another_vocabulary(toys, tmp_path):
    out = changed("blocks", toys / "untied", tmp_path / "out", share=1.0)
    adapted = adapt(toys, tmp_path / "adapted", out)
    assert read_json(adapted / "config.json")[ADDED_BLOCKS] == [1, 3]


def test_an_expanded_model_is_expanded_again(toys, tmp_path):
    once = changed("blocks", toys / "untied", tmp_path / "once", share=1.0)
    twice = changed("blocks", once, tmp_path / "twice", share=0.5)
    assert torch.equal(logits(twice), logits(toys / "untied"))
    assert read_json(twice / "config.json")[ADDED_BLOCKS] == [2, 5]


# What is refused. --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        # The weight of its two attentions depends on the number of the layer.
        ("diffllama", {}, "a small model of this architecture gives different logits"),
        # Each half of a block scales the residual stream.
        ("doge", {}, "gives different logits"),
        ("mixtral", {"num_local_experts": 2}, "no model.layers.0.mlp.down_proj.weight"),
        ("starcoder2", {}, "no model.layers.0.mlp.down_proj.weight"),
        ("gpt_neox", {}, r"0 blocks model\.layers\.N, but num_hidden_layers = 4"),
    ],
)
def test_other_architectures_are_refused(toys, tmp_path, kind, settings, said):
    tokenizer = toys / "source-tokenizer"
    source = write_architecture(tokenizer, tmp_path / "source", kind, **settings)
    with pytest.raises(RevocabError, match=said) as caught:
        changed("blocks", source, tmp_path / "out", share=0.5)
    assert f"block expansion of {kind!r}" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_quantised_weights_are_refused(toys, tmp_path):
    settings = {"quantization_config": {"quant_method": "gptq"}}
    source = with_settings(toys / "untied", tmp_path / "source", **settings)
    with pytest.raises(RevocabError, match="quantised; use the unquantised model"):
        changed("blocks", source, tmp_path / "out", share=0.5)


def test_a_share_that_does_not_fit_names_the_model(toys, tmp_path):
    with pytest.raises(RevocabError, match=r"untied: share 0\.3 of 2 blocks is 0\.6"):
        changed("blocks", toys / "untied", tmp_path / "out", share=0.3)
