"""Estimates of the memory of training: by hand, and beside what autograd keeps."""

from __future__ import annotations

from dataclasses import replace
from types import MethodType

import pytest
import torch

from revocab.costs.model import Memory, Outline, flops_per_token, most_trained
from revocab.models.shape import GPU_CHUNK_ELEMENTS
from revocab.training.loss import next_token_loss
from revocab.training.run import Settings
from revocab.training.stages import ParameterGroup, PeakRates

WIDE = Memory(
    parameters=1000, trained=600, layers=3, hidden=8, intermediate=20, queries=12, vocabulary=50,
    length=16,
)  # fmt: skip
NARROW = replace(WIDE, width=2)


def test_state_is_weights_gradients_and_two_moments():
    assert WIDE.states == 1000 * 4 + 600 * (4 + 8)
    assert NARROW.states == 1000 * (4 + 2) + 600 * (4 + 8)
    assert replace(WIDE, shards=4).states == (1000 * 4 + 600 * 12) // 4
    assert WIDE.resume_state == 4 * (1000 + 2 * 600)
    assert replace(NARROW, frozen=100).resume_state == 4 * (900 + 2 * 600) + 2 * 100


def test_a_layer_by_hand():
    norms = 2 * (8 * 4 + 8 * 4)  # input and normalised values
    assert WIDE.layer == norms + 2 * 8 * 4 + 4 * 12 * 4 + 4 * 20 * 4
    assert NARROW.layer == norms + 5 * 8 * 2 + 4 * 12 * 2 + 4 * 20 * 2


def test_checkpointing_keeps_inputs_of_layers_and_one_layer():
    head, one = 8 * (2 * 4 + 2 * 4), WIDE.layer
    assert WIDE.token == 3 * one + head + one
    assert replace(WIDE, recomputed=True).token == 3 * 8 * 4 + one + head + one


def test_the_stage_that_trains_most_counts():
    rates = PeakRates(1e-3, 0.0)
    groups = [
        ParameterGroup((rates, rates), parameters=[torch.zeros(3, 4)]),
        ParameterGroup((None, rates), parameters=[torch.zeros(5), torch.zeros(2)]),
        ParameterGroup((rates, None), parameters=[torch.zeros(6)]),
    ]
    assert most_trained(groups, 2) == 19


@pytest.mark.parametrize("size", [64, 32, 16, 4, 1])
def test_the_largest_that_fits(size):
    """Just enough memory, nine tenths of which are used, and a little less."""
    free = -(-WIDE.step(size) * 10 // 9)
    assert WIDE.largest(free, 64) == size
    assert WIDE.largest(free - 2, 64) == max(1, size // 2)


def test_a_share_that_is_no_power_of_two():
    assert WIDE.largest(-(-WIDE.step(11) * 10 // 9), 12) == 6
    assert WIDE.largest(0, 12) == 1


def test_a_head_in_one_piece_holds_all_logits():
    whole = replace(NARROW, chunked_head=False)
    assert whole.token - NARROW.token == 50 * (2 + 4 + 4)
    large = GPU_CHUNK_ELEMENTS // (16 * 50) + 1  # sequences, more than a chunk of logits
    more = large * 16 * 50 - GPU_CHUNK_ELEMENTS
    assert whole.step(large) - NARROW.step(large) == more * (4 + 4 + 2)
    assert whole.step(1) == NARROW.step(1)


#: Embeddings and head; of a layer queries, keys, values, output, MLP and norms; the last norm.
SIZES = {
    "model_type": "llama", "vocab_size": 100, "hidden_size": 8, "intermediate_size": 20,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
}  # fmt: skip
LAYER = 8 * 8 + 2 * 8 * 4 + 8 * 8 + 3 * 8 * 20
PARAMETERS = 2 * 100 * 8 + 2 * (LAYER + 2 * 8) + 8
ROWS = {"name": "rows", "steps": 10, "learning_rate": 1e-3, "train": ["embeddings"]}


def counted(source_rows: int = 60, **keys: object) -> tuple[float, Memory]:
    """Return the operations of all steps, and the memory, of a training of 10 steps of 8 rows."""
    settings = Settings(batch_size=8, learning_rate=1e-3, seed=1, checkpoint_every=10, **keys)
    model = Outline(SIZES)
    groups = settings.plan.groups(model)
    flops = flops_per_token(model, groups, settings, 16, source_rows=source_rows)
    memory = Memory.of(model, groups, settings, 16, 4, source_rows=source_rows)
    return flops * 10 * 8 * 16, memory


def test_everything_trained():
    flops, memory = counted(steps=10)
    # 6 for each weight of a matrix that is not looked up, and attention.
    assert flops == 10 * 8 * 16 * (6 * (100 * 8 + 2 * LAYER) + 12 * 2 * 8 * 16)
    assert memory.resume_state == 12 * PARAMETERS and memory.trained == PARAMETERS
    assert counted(stages=[ROWS])[1].trained == 2 * 100 * 8


@pytest.mark.parametrize("shared", [False, True])
def test_vocabulary_adapters(shared):
    """Two matrices of 100 rows of 60 source rows, with two moments each, or one; 8 wide."""
    (plain, _), (adapted, memory) = (
        counted(stages=[{**ROWS, **more}])
        for more in ({}, {"adapter": {"auxiliary": 0.1, "shared": shared}})
    )
    each, norm = (1, 2 * 16 * 16) if shared else (2, 2 * 8 * 8)
    assert memory.adapters == each * 100 * 60
    assert adapted - plain == pytest.approx(10 * (2 * 4 * 100 * 60 * 8 + each * 100 * norm))


def kept_bytes(model, batch, precision):
    """Return the bytes of what autograd keeps of a forward pass, without parameters."""
    own = {one.untyped_storage().data_ptr() for one in model.parameters()}
    kept, held = {}, []

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
            held.append(tensor)
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
        torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bfloat16"),
    ):
        model(input_ids=torch.zeros(batch, 32, dtype=torch.long))
    return sum(kept.values())


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("heads", [(4, 2, 192), (4, 4, 128)])
def test_what_autograd_keeps_is_close_to_the_estimate(precision, heads):
    from transformers import LlamaConfig, LlamaForCausalLM

    queries, keys, intermediate = heads
    config = LlamaConfig(
        vocab_size=64, hidden_size=64, intermediate_size=intermediate, num_hidden_layers=6,
        num_attention_heads=queries, num_key_value_heads=keys, attn_implementation="sdpa",
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    model.forward = MethodType(next_token_loss, model)
    per_token = (kept_bytes(model, 3, precision) - kept_bytes(model, 1, precision)) / 64
    settings = Settings(
        steps=1, batch_size=1, learning_rate=1e-3, seed=1, checkpoint_every=1, precision=precision
    )
    memory = Memory.of(model, settings.plan.groups(model), settings, 32, 4)
    assert 6 * memory.layer == pytest.approx(per_token, rel=0.08)
    # The peak, with the gradients of a layer, is above what is kept.
    assert memory.token > per_token
