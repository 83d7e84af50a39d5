"""Costs: operations counted by hand, utilisation, energy from counters, TensorBoard events."""

from __future__ import annotations

import pytest
import torch

from revocab.training.machine.costs import (
    EnergyMeter,
    adapter_flops,
    costs_of,
    mean_flops_per_token,
    measured_peak,
    rapl_counters,
)
from revocab.training.machine.operations import operations
from revocab.training.outputs.loss_tables import HELDOUT, LOSSES, LossTables
from revocab.training.run import TrainingMachine
from revocab.training.stage import Stage
from revocab.training.stages import StagePlan


@pytest.mark.parametrize("tied", [False, True])
def test_operations_by_hand(tied):
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=30, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=tied,
        )
    )  # fmt: skip
    plan = StagePlan(
        [
            Stage(name="a", steps=1, learning_rate=1.0, train=("embeddings",)),
            Stage(name="b", steps=3, learning_rate=1.0),
        ]
    )
    groups = plan.groups(model)
    blocks = 2 * (16 * 16 + 2 * 16 * 8 + 16 * 16 + 3 * 16 * 24)
    head, attention = 30 * 16, 12 * 2 * 16 * 32
    embeddings_only = 4 * (blocks + head) + 2 * head + attention
    everything = 6 * (blocks + head) + attention
    assert operations(model, groups, 0).flops(32) == embeddings_only
    assert operations(model, groups, 1).flops(32) == everything
    mean = mean_flops_per_token(model, groups, plan, 32)
    assert mean == pytest.approx((embeddings_only + 3 * everything) / 4)


def test_an_adapters_operations_by_hand():
    """Five rows of four, three wide: two products of 5 x 4 x 3, and one of 5 x 3 x 3."""
    assert adapter_flops(5, 4, 3) == 2 * 2 * 60 + 2 * 45


def test_the_measured_peak_is_a_rate_and_says_what_it_is():
    peak, source = measured_peak(torch.device("cpu"), torch.float32)
    assert 1e8 < peak < 1e15
    assert "measured: best of" in source and "float32" in source


def costs(stated, energy=(7.2e6, "read")):
    return costs_of(
        stated, flops=1e9, tokens_per_second=200.0, peak=(1e12, "measured"), processes=2,
        energy=energy,
    )  # fmt: skip


def test_utilisation_and_co2_by_hand():
    found = costs(TrainingMachine(carbon_intensity=300.0))
    assert found["model_flops_utilisation"] == pytest.approx(0.1)  # 2e11 of 2 x 1e12
    assert found["co2_grams"] == pytest.approx(600.0)  # 2 kWh
    found = costs(TrainingMachine(peak_flops=5e11), energy=(None, "not readable"))
    assert found["model_flops_utilisation"] == pytest.approx(0.2)
    assert found["peak_flops_source"] == "stated"
    assert found["energy_joules"] is found["co2_grams"] is None


def counter(root, name, value, limit=1_000_000):
    (root / name).mkdir(parents=True, exist_ok=True)
    (root / name / "energy_uj").write_text(f"{value}\n")
    (root / name / "max_energy_range_uj").write_text(f"{limit}\n")


def test_energy_from_counters_that_may_wrap(tmp_path):
    counter(tmp_path, "intel-rapl:0", 900_000)
    counter(tmp_path, "intel-rapl:1", 100)
    counter(tmp_path, "intel-rapl:0:0", 5)  # a part of package 0
    assert len(rapl_counters(tmp_path)) == 2
    meter = EnergyMeter(watts=50.0, root=tmp_path)
    meter.start()
    counter(tmp_path, "intel-rapl:0", 400_000)
    counter(tmp_path, "intel-rapl:1", 200_100)
    assert meter.read() == (pytest.approx(0.7), "read: RAPL (CPU packages)")


def test_energy_from_stated_power_or_none(tmp_path):
    meter = EnergyMeter(watts=50.0, root=tmp_path)
    meter.start()
    joules, source = meter.read()
    assert 0 < joules < 500 and source == "stated power of 50 W x time"
    meter = EnergyMeter(root=tmp_path)
    meter.start()
    assert meter.read()[0] is None


def test_tensorboard_events_hold_the_tables(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    tables = LossTables(tmp_path, resume_from=None, events=True)
    tables.append(HELDOUT, [(0, "c", "it", 2.0, 1.5, 8, 20)])
    tables.append(LOSSES, [(1, 8, 2.5, 1.0, 0.01, 0.5), (2, 16, 2.25, 1.0, 0.02, 0.5)])
    tables.scalar("train/tokens_per_second", 100.0, 2)
    (tmp_path / "checkpoint-1").mkdir()
    tables.copy_to(tmp_path / "checkpoint-1")
    tables.close()
    resumed = LossTables(tmp_path, resume_from=tmp_path / "checkpoint-1", events=True)
    resumed.append(LOSSES, [(2, 16, 2.125, 1.0, 0.02, 0.5)])
    resumed.close()
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(e.step, e.value) for e in events.Scalars("train/loss")] == [(1, 2.5), (2, 2.125)]
    assert [e.value for e in events.Scalars("heldout/c/bits_per_byte")] == [1.5]
    assert set(events.Tags()["scalars"]) >= {"train/gradient_norm", "train/tokens_per_second"}


@pytest.mark.parametrize("name", ["one-cpu", "one-gpu", "fsdp-one-node", "fsdp-many-nodes"])
def test_accelerate_reads_its_profiles(repository, name):
    """accelerate refuses a file with a key it does not know; FSDP's own become its variables."""
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.commands.launch import launch_command_parser
    from accelerate.utils import FullyShardedDataParallelPlugin

    config = load_config_from_file(str(repository / f"config/accelerate/{name}.yaml"))
    assert config.mixed_precision == "no"
    fsdp = getattr(config, "fsdp_config", {}) or {}
    assert bool(fsdp) == name.startswith("fsdp")
    known = {action.dest for action in launch_command_parser()._actions}
    assert set(fsdp) <= known
    if fsdp:
        plugin = FullyShardedDataParallelPlugin(
            fsdp_version=fsdp["fsdp_version"], state_dict_type=fsdp["fsdp_state_dict_type"]
        )
        assert plugin.fsdp_version == 2
