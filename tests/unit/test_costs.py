"""Operations counted by hand; TensorBoard events; accelerate's profiles."""

from __future__ import annotations

import pytest

from revocab.costs.model import adapter_flops, flops_per_token, operations
from revocab.training.records import HELDOUT, LOSSES, LossTables
from revocab.training.run import Settings
from revocab.training.stages import Stage


@pytest.mark.parametrize("tied", [False, True])
def test_operations_by_hand(tied):
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=30, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=tied,
        )
    )  # fmt: skip
    stages = [
        Stage(name="a", steps=1, learning_rate=1.0, train=("embeddings",)),
        Stage(name="b", steps=3, learning_rate=1.0),
    ]
    settings = Settings(
        stages=stages, steps=4, batch_size=2, learning_rate=1.0, seed=1, checkpoint_every=4
    )
    groups = settings.plan.groups(model)
    blocks = 2 * (16 * 16 + 2 * 16 * 8 + 16 * 16 + 3 * 16 * 24)
    head, attention = 30 * 16, 12 * 2 * 16 * 32
    embeddings_only = 4 * (blocks + head) + 2 * head + attention
    everything = 6 * (blocks + head) + attention
    assert operations(model, groups, 0).flops(32) == embeddings_only
    assert operations(model, groups, 1).flops(32) == everything
    mean = flops_per_token(model, groups, settings, 32)
    assert mean == pytest.approx((embeddings_only + 3 * everything) / 4)


def test_an_adapters_operations_by_hand():
    """Five rows of four, three wide: two products of 5 x 4 x 3, and one of 5 x 3 x 3."""
    assert adapter_flops(5, 4, 3) == 2 * 2 * 60 + 2 * 45


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

    config = load_config_from_file(str(repository / f"profiles/accelerate/{name}.yaml"))
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
