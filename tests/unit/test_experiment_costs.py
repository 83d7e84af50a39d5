"""What ``revocab plan`` counts: outlines beside real models, operations beside torch's counter."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from revocab import io
from revocab.costs.devices import known
from revocab.costs.experiment import CostOptions, costs_of
from revocab.costs.model import Memory, Outline, flops_per_token, operations, parameters_of
from revocab.errors import RevocabError
from revocab.experiment import read
from revocab.experiment.layout import Layout
from revocab.training.lora import Adapters, plain_name
from revocab.training.run import Settings
from revocab.workflow.plan import plan as plan_verb

SIZES = {
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 50,
}  # fmt: skip
GIVEN = {"batch_size": 8, "learning_rate": 1e-3, "seed": 1, "checkpoint_every": 5}
PAPER = Path("config/sava.yaml")


def real_model(kind: str, **keys: object):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **SIZES | keys))
        model.tie_weights()
    return model


def outline(kind: str, settings: Settings | None = None, **keys: object) -> Outline:
    return Outline({"model_type": kind, **SIZES, **keys}, settings.plan if settings else None)


def stage(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "steps": 5, "learning_rate": 1e-3, **more}


def shapes(model: object) -> dict[str, tuple[int, ...]]:
    return {plain_name(name): tuple(weight.shape) for name, weight in model.named_parameters()}


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", ["llama", "mistral", "qwen2", "qwen3"])
def test_an_outline_has_the_weights_of_the_model(kind, tied):
    keys = {"tie_word_embeddings": tied, "head_dim": 6 if kind == "qwen3" else 4}
    assert shapes(outline(kind, **keys)) == shapes(real_model(kind, **keys))


LORA = {"train": ["lora", "output_embeddings"], "lora": {"rank": 3, "alpha": 4, "layers": [-1]}}


@pytest.mark.parametrize(
    "stages",
    [
        [{}],
        [{"train": ["embeddings"]}, {"train": ["attention", r"mlp\.up"]}],
        [{"train": ["embeddings"], "adapter": {"auxiliary": 0.1}}],
        [{"train": ["embeddings"], "adapter": {"auxiliary": 0.1, "shared": True}}, {}],
        [LORA, {"train": ["lora"], "lora": {"rank": 2, "alpha": 4, "modules": ["mlp"]}}],
    ],
)
def test_an_outline_is_estimated_as_the_model_is(stages):

    named = [stage(f"s{number}", **more) for number, more in enumerate(stages)]
    settings = Settings(stages=named, **GIVEN)
    model, drawn = real_model("mistral"), outline("mistral", settings, dtype="bfloat16")
    Adapters(model, settings.plan, 1)
    assert shapes(drawn) == shapes(model)
    ours, theirs = (
        [
            call(one, settings.plan.groups(one), settings, 16, *more, source_rows=40)
            for call, more in ((flops_per_token, ()), (Memory.of, (2,)))
        ]
        for one in (drawn, model)
    )
    assert ours == theirs


def test_known_models_have_the_parameters_that_their_sources_state():
    counted = [entry for entry in known("models").values() if "parameters" in entry]
    assert len(counted) > 15
    for entry in counted:
        assert parameters_of(Outline(entry)) == pytest.approx(entry["parameters"], rel=0.005), entry


def test_every_known_device_and_model_has_a_source():
    for kind in ("models", "devices"):
        assert all(entry["source"] for entry in known(kind).values())
    assert all({"peak", "memory", "watts"} <= entry.keys() for entry in known("devices").values())


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"model_type": "gpt_neox", **SIZES}, "'gpt_neox'"),
        ({"model_type": "llama"}, "without hidden_size, intermediate_size"),
        ({**SIZES, "hidden_size": "many", "model_type": "llama"}, "without hidden_size"),
    ],
)
def test_a_configuration_without_sizes_is_refused(config, why):
    with pytest.raises(RevocabError, match=re.escape(why)):
        Outline(config)


# --- bills of shipped files -----------------------------------------------------------------------


@cache
def layout_of(file: str | Path) -> Layout:
    return Layout(read(file))


def a_bill(file: str | Path, **options: object):
    return costs_of(layout_of(file), CostOptions(**options))


def test_the_paper_is_counted(repository, monkeypatch):
    monkeypatch.chdir(repository)
    bill = a_bill(PAPER, gpu="a100-80gb", devices=64, carbon=432)
    sava = next(one for one in bill.trainings if one.name == "mistral-sava")
    assert sava.tokens == 2000 * 3072 * 2048 and sava.parameters == 7_248_023_552
    assert sava.layout == "sharded"
    # With everything trained: attention of 4,096 in 32 layers, held-out losses left out.
    matrices = sava.parameters - 2 * 32768 * 4096 - (2 * 32 + 1) * 4096 + 32768 * 4096
    own = sava.tokens * (6 * matrices + 12 * 32 * 4096 * 2048)
    assert sava.flops == pytest.approx(own, rel=0.01) and sava.flops > own
    assert sava.hours == pytest.approx(sava.flops / (312e12 * 0.4) / 3600)
    hours = bill.totals["device hours"][0]
    assert hours == pytest.approx(sum(one.hours for one in bill.trainings))
    assert bill.totals["CO2"][0] == pytest.approx(hours * 0.4 * 0.432)


def test_devices_divide_time_and_not_cost(repository, monkeypatch):
    monkeypatch.chdir(repository)
    alone, many = (a_bill(PAPER, peak=1e15, devices=devices) for devices in (1, 64))
    name = "hours with all devices busy"
    assert alone.totals["device hours"][0] == many.totals["device hours"][0]
    assert alone.totals[name][0] == pytest.approx(64 * many.totals[name][0])
    assert "energy" not in alone.totals  # of a device without a stated power


def test_what_no_device_holds_is_said(repository, monkeypatch):
    monkeypatch.chdir(repository)
    assert {one.layout for one in a_bill(PAPER, gpu="a10").trainings} == {"too large for a device"}
    assert {one.micro_batch for one in a_bill(PAPER).trainings} == {1}  # no memory is named


def test_calibrations_of_8b_models_fit_80_gb(repository, monkeypatch):
    """An adapter's base is in 16 bits; no layout of theirs is sharded."""
    monkeypatch.chdir(repository)
    trainings = a_bill("config/lep.yaml", gpu="a100-80gb", devices=8).trainings
    calibrated = [one for one in trainings if one.name.endswith(("-saiga", "-copy", "-self"))]
    assert len(calibrated) >= 14
    assert {one.layout for one in calibrated} <= {"", "recomputed"}


@pytest.mark.parametrize(
    ("file", "memory", "job", "devices"),
    [
        # 70.55e9 weights and 8 contexts of 8,192 with 80 x 2 x 1,024 numbers each, in 2 bytes.
        ("lep", 162.6e9, "judge_answers: own-answers", 4),
        # 69.5e9 weights in float32.
        ("bilingual", 277.9e9, "measure_heldout: llama-2-70b-released", 4),
        ("bilingual", 143.3e9, "score_multiple_choice: llama-2-70b-base", 2),
        # 13.02e9 weights and 8 contexts of 2,048 with 40 x 2 x 5,120 numbers each.
        ("bilingual", 39.45e9, "score_multiple_choice: llama-2-13b-base", 1),
    ],
)
def test_inference_is_divided_among_as_many_devices_as_hold_it(
    repository, monkeypatch, file, memory, job, devices
):
    monkeypatch.chdir(repository)
    bill = a_bill(f"config/{file}.yaml", gpu="a100-80gb")
    assert bill.inference[job] == (pytest.approx(memory, rel=0.01), devices)
    unnamed = a_bill(f"config/{file}.yaml").inference.values()
    assert {count for _, count in unnamed} == {None}


def test_what_is_not_known_is_listed_and_can_be_given(repository, monkeypatch, tmp_path):
    monkeypatch.chdir(repository)
    values = yaml.safe_load(Path("config/demos/one-gpu.yaml").read_text(encoding="utf-8"))
    values["models"]["smollm2"]["hub"] = values["tokenizers"]["smollm2"]["hub"] = "nobody/knows"
    file = tmp_path / "file.yaml"
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    bill = a_bill(file)
    assert {"models.smollm2", "tokenizers.smollm2"} <= {*bill.unknown} and not bill.trainings
    config = tmp_path / "config.json"
    io.write_json(config, {"model_type": "llama", **SIZES})
    told = a_bill(file, shape={"smollm2": config}, vocabulary={"smollm2": 50})
    assert not {"models.smollm2", "tokenizers.smollm2"} & {*told.unknown}
    assert len(told.trainings) == 5
    with pytest.raises(RevocabError) as caught:
        a_bill(file, shape={"none": config}, vocabulary={"other": 5})
    assert len(caught.value.problems) == 2
    for content, why in (("{}", "without hidden_size"), ("[]", "expected a mapping")):
        config.write_text(content, encoding="utf-8")
        assert why in a_bill(file, shape={"smollm2": config}).unknown["models.smollm2"]


def test_a_measured_step_stands_for_a_device(repository, monkeypatch, tmp_path):
    file = repository / "config/demos/demo.yaml"
    monkeypatch.chdir(tmp_path)
    assert "device hours" not in a_bill(file).totals
    record = {"model_flops_per_second": 6e9, "processes": 2}
    io.write_json("results/demo/runs/mistral-sava/timing.json", record)
    bill = a_bill(file)
    for training in bill.trainings:  # of the others, the speed of the one that has been measured
        assert training.hours == pytest.approx(training.flops / 3e9 / 3600)
    for training in a_bill(file, gpu="l4").trainings:
        assert training.hours == pytest.approx(training.flops / (121e12 * 0.4) / 3600)


def test_json_has_every_number(repository, monkeypatch):
    monkeypatch.chdir(repository)
    bill = json.loads(
        plan_verb(["--configfile", "config/demos/demo.yaml", "--gpu", "h100", "--json"])
    )
    assert bill["totals"]["energy"][0] > 0 and bill["disk"]["checkpoints"] > 0
    assert all(training["hours"] > 0 for training in bill["trainings"].values())


# --- beside what is measured ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["mistral", "qwen3"])
@pytest.mark.parametrize(
    "train",
    [
        "all", "embeddings", "input_embeddings", "output_embeddings", "norms", "mlp", "attention",
        r"layers\.1\.input_layernorm", r"layers\.1\..*q_proj", r"layers\.1\..*v_proj",
        r"layers\.1\..*o_proj", r"layers\.1\.post_", r"layers\.2\..*down_proj", "q_norm", "lora",
    ],
)  # fmt: skip
def test_operations_are_those_that_torch_counts_in_a_step(kind, train):
    """Torch knows the products of plain attention and of full logits; those of fused ones it leaves
    out.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import AutoConfig, AutoModelForCausalLM

    if (kind, train) == ("mistral", "q_norm"):
        train = "[kv]_proj"
    sizes = {**SIZES, "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 3,
             "vocab_size": 300, "head_dim": 24, "tie_word_embeddings": kind == "qwen3"}  # fmt: skip
    model = AutoModelForCausalLM.from_config(
        AutoConfig.for_model(kind, **sizes), attn_implementation="eager"
    )
    more = {"lora": {"rank": 3, "alpha": 4, "layers": [1], "modules": ["v_proj", "up_proj"]}}
    asked = stage("whole", train=train, **(more if train == "lora" else {}))
    plan = Settings(stages=[asked], **GIVEN).plan
    Adapters(model, plan, 1)
    trained = {id(p) for group in plan.groups(model) for p in group.parameters}
    for parameter in model.parameters():
        parameter.requires_grad_(id(parameter) in trained)
    ids = torch.randint(0, 300, (2, 32))
    with FlopCounterMode(display=False) as counter:
        model(input_ids=ids, labels=ids).loss.backward()
    for counted in (model, Outline({"model_type": kind, **sizes}, plan)):
        flops = ids.numel() * operations(counted, plan.groups(counted), 0).flops(32)
        assert flops == pytest.approx(counter.get_total_flops(), rel=0.001)
