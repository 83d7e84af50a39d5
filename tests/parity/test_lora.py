"""LoRA: what moves, a plain loop beside it, what is exported, and what PEFT makes of it."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file
from torch.func import functional_call
from training_pico import (
    RECIPE,
    assert_same,
    at,
    batches,
    changed,
    losses,
    moved,
    run_of,
    stop_training,
    textbook_loss,
    weights,
)

from revocab.errors import RevocabError
from revocab.training import loop
from revocab.training.lora import Adapters, hold_in_16_bits
from revocab.training.stages import Stage, StagePlan
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")

HEAD = "lm_head.weight"
QUERIES = "model.layers.1.self_attn.q_proj.weight"
#: An adapter of one module and the head, everything, then an adapter of all linear modules.
STAGES = (
    Stage(
        name="adapter", steps=4, learning_rate=1e-2, train=["lora", "output_embeddings"],
        weight_decay=0.3, lora={"rank": 2, "alpha": 4, "layers": [-1], "modules": ["q_proj"]},
    ),
    Stage(name="everything", steps=3, learning_rate=1e-2),
    Stage(name="again", steps=3, learning_rate=1e-2, train=["lora"], lora={"rank": 3, "alpha": 3}),
)  # fmt: skip
LORA = {"rank": 2, "alpha": 4}
CHANGES = {"steps": 10, "checkpoint_every": 2, "stages": STAGES}


@pytest.fixture(scope="module")
def finished(inputs, tmp_path_factory):
    out = tmp_path_factory.mktemp("lora")
    return out, train(run_of(inputs, out, **CHANGES))


def load(folder):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def test_only_named_parameters_move(inputs, finished):
    out, _ = finished
    folders = (inputs / "model", at(out, 4), at(out, 7), at(out, 10))
    first, second, third, last = map(weights, folders)
    assert moved(first, second) == {HEAD, QUERIES}
    assert moved(second, third) == {*second}
    assert moved(third, last) == {name for name in third if "_proj" in name}


def test_peft_loads_the_adapter_and_gives_the_logits_of_the_merged_checkpoint(inputs, finished):
    from peft import PeftModel

    out, manifest = finished
    assert [(one["step"], one["base"]) for one in manifest["adapters"]] == [
        (2, 0), (4, 0), (8, 7), (10, 7)
    ]  # fmt: skip
    ids = torch.arange(16)[None]
    for one in manifest["adapters"]:
        base = load(inputs / "model" if one["base"] == 0 else at(out, one["base"]))
        before = base(ids).logits
        adapted = PeftModel.from_pretrained(base, out / one["path"]).eval()
        found, expected = adapted(ids).logits, load(at(out, one["step"]))(ids).logits
        # Checkpoints are bfloat16, adapters float32.
        torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)
        assert (found - expected).abs().max() < 0.1 * (before - expected).abs().max()


def test_an_adapter_equals_a_plain_loop_over_its_two_factors(inputs, finished):
    out, _ = finished
    model = load(inputs / "model")
    adapters = Adapters(load(inputs / "model"), StagePlan(STAGES), RECIPE["seed"])
    module = adapters.layers[QUERIES.removesuffix(".weight")]
    first_RI = module.lora_A["stage-0"].weight.detach().clone().requires_grad_()
    second_OR = torch.zeros(16, 2, requires_grad=True)
    named = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    trained = [first_RI, second_OR, named[HEAD].requires_grad_()]
    optimizer = torch.optim.AdamW(trained, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.3)
    expected = []
    for step, ids in zip(range(STAGES[0].steps), batches(inputs), strict=False):
        optimizer.param_groups[0]["lr"] = STAGES[0].learning_rate * STAGES[0].factor(step)
        adapted = {**named, QUERIES: named[QUERIES] + 4 / 2 * second_OR @ first_RI}
        loss = textbook_loss(functional_call(model, adapted, (ids,)).logits, ids)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        expected.append(loss.item())
    assert losses(out)[:4] == pytest.approx(expected, abs=1e-6)
    found = load_file(out / "adapters/step-000004/adapter_model.safetensors")
    key = f"base_model.model.{QUERIES.removesuffix('.weight')}.lora_"
    for letter, factor in (("A", first_RI), ("B", second_OR)):
        torch.testing.assert_close(
            found[f"{key}{letter}.weight"], factor.detach(), rtol=1e-4, atol=1e-6
        )


def pico(tied):
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=30, hidden_size=16, intermediate_size=24, num_hidden_layers=3,
        num_attention_heads=2, tie_word_embeddings=tied,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def adapted(model, seed=1, *, sharded=False, **lora):
    rates = {"steps": 3, "learning_rate": 1e-3}
    first = Stage(name="one", train=["lora"], lora={"rank": 2, "alpha": 8, **lora}, **rates)
    plan = StagePlan([first, Stage(name="two", **rates)])
    return Adapters(model, plan, seed, sharded=sharded), plan


@pytest.mark.parametrize("tied", [False, True])
def test_fresh_adapters_change_nothing_and_merged_ones_compute_the_same(tied):
    model, plain, ids = pico(tied), pico(tied), torch.arange(20)[None]
    adapters, _ = adapted(model, layers=[0, -1], modules=["attention", "down_proj"])
    assert len(adapters.layers) == 2 * 5
    assert torch.equal(model(ids).logits, plain(ids).logits)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    unmerged = model(ids).logits
    assert (unmerged - plain(ids).logits).abs().max() > 0.1
    plain.load_state_dict(adapters.merged(model.state_dict()))
    torch.testing.assert_close(plain(ids).logits, unmerged, rtol=1e-5, atol=1e-5)
    assert (plain.lm_head.weight is plain.model.embed_tokens.weight) == tied
    adapters.enter(1, merge=True)
    assert torch.equal(model(ids).logits, plain(ids).logits)


def test_first_values_follow_the_seed_and_leave_the_generator_alone():
    models = [pico(False) for _ in range(3)]
    before = torch.get_rng_state()
    drawn = []
    for model, seed in zip(models, (1, 1, 2), strict=True):
        layers = adapted(model, seed)[0].layers
        drawn.append(layers["model.layers.0.mlp.up_proj"].lora_A["stage-0"].weight)
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    assert torch.equal(before, torch.get_rng_state())


def test_an_adapter_is_in_no_group_of_another_stage():
    model = pico(False)
    _, plan = adapted(model)
    groups = {tuple(map(bool, one.rates)): one.names for one in plan.groups(model)}
    assert {*groups} == {(True, False), (False, True)}
    assert all(".stage-0." in name for name in groups[True, False])
    assert not any("lora" in name for name in groups[False, True])


def test_sharded_weights_are_refused():
    with pytest.raises(RevocabError, match="--fsdp: a recipe with lora needs whole weights"):
        adapted(pico(False), sharded=True)


def test_layers_and_modules_that_are_not_there_are_all_named():
    with pytest.raises(RevocabError) as caught:
        adapted(pico(False), layers=[0, 3, -4], modules=["attention", "query"])
    assert caught.value.problems == [
        "stage one: lora.layers: 3: the model has 3; give -3 to 2",
        "stage one: lora.layers: -4: the model has 3; give -3 to 2",
        "stage one: lora.modules: 'query' is not a linear module of the model's layers; give "
        "attention, mlp, down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj",
    ]


ADAPTER = {"train": ["lora"], "lora": LORA}
#: What each recipe holds in 16 bits: an adapter's base, all frozen layers, and no weight that an
#: adapter is merged into before the end; nothing of a model in float32, which 16 bits do not hold.
FROZEN = {
    "an adapter": ([ADAPTER | {"train": ["lora", "embeddings"]}], torch.bfloat16, 14),
    "of float16": ([ADAPTER], torch.float16, 14),
    "of float32": ([ADAPTER], torch.float32, 0),
    "two adapters": ([ADAPTER | {"lora": {**LORA, "layers": [0]}}, ADAPTER], torch.bfloat16, 7),
    "embeddings": ([{"train": ["embeddings"]}], torch.bfloat16, 14),
    "norms, then a layer": (
        [{"train": ["norms"]}, {"train": [r"layers\.0\."]}], torch.bfloat16, 7
    ),
    "everything": ([{"train": ["norms"]}, {}], torch.bfloat16, 0),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "dtype", "count"), FROZEN.values(), ids=FROZEN)
def test_frozen_weights_of_16_bits_change_no_byte(
    inputs, tmp_path, monkeypatch, parts, dtype, count
):
    """Neither losses, held-out ones too, nor checkpoints, nor what a killed run ends with."""
    stages = [Stage(name=f"s{n}", steps=3, learning_rate=1e-2, **p) for n, p in enumerate(parts)]
    steps = 3 * len(stages)
    folder = tmp_path / "model"
    torch.manual_seed(1)
    model = load(inputs / "model")
    for weight in model.parameters():
        weight.data += 0.01 * torch.randn_like(weight)
    model.to(dtype).save_pretrained(folder)
    found: list[int] = []

    def held(model, names):
        hold_in_16_bits(model, names)
        found.append(sum(weight.dtype != torch.float32 for weight in model.parameters()))

    monkeypatch.setattr(loop, "hold_in_16_bits", held)
    runs = {
        name: changed(
            run_of(inputs, tmp_path / name, stages=stages, steps=steps, checkpoint_every=2,
                   precision="bfloat16", warmup_steps=0, weight_decay=0.0),
            model=folder,
        )
        for name in ("held", "killed", "float")
    }  # fmt: skip
    train(runs["held"])
    stop_training(runs["killed"], after=steps - 1)
    train(runs["killed"])
    assert found == [count] * 3
    monkeypatch.setattr(loop, "hold_in_16_bits", lambda model, names: None)
    train(runs["float"])
    for name in ("killed", "float"):
        assert_same(tmp_path / name, tmp_path / "held")
