"""Estimates of the memory of training: by hand, and beside what autograd keeps."""

from __future__ import annotations

import pytest
import torch

from revocab.training.estimates import (
    ModelShape,
    StepOptions,
    layer_bytes,
    most_trained,
    starting_micro_batch,
    state_bytes,
    step_bytes,
    token_bytes,
)
from revocab.training.loop.loss import forward_to_loss
from revocab.training.machine.head import GPU_CHUNK_ELEMENTS
from revocab.training.stages import ParameterGroup, PeakRates

SHAPE = ModelShape(
    parameters=1000, trained=600, layers=3, hidden=8, intermediate=20, queries=12, vocabulary=50
)
WIDE, NARROW = StepOptions(16), StepOptions(16, "bfloat16")


def test_state_is_weights_gradients_and_two_moments():
    assert state_bytes(SHAPE, WIDE) == 1000 * 4 + 600 * (4 + 8)
    assert state_bytes(SHAPE, NARROW) == 1000 * (4 + 2) + 600 * (4 + 8)
    assert state_bytes(SHAPE, StepOptions(16, sharded_over=4)) == (1000 * 4 + 600 * 12) // 4


def test_a_layer_by_hand():
    norms = 2 * (8 * 4 + 8 * 4)  # input and normalised values
    assert layer_bytes(SHAPE, WIDE) == norms + 2 * 8 * 4 + 4 * 12 * 4 + 4 * 20 * 4
    assert layer_bytes(SHAPE, NARROW) == norms + 5 * 8 * 2 + 4 * 12 * 2 + 4 * 20 * 2


def test_checkpointing_keeps_inputs_of_layers_and_one_layer():
    head, one = 8 * (2 * 4 + 2 * 4), layer_bytes(SHAPE, WIDE)
    assert token_bytes(SHAPE, WIDE) == 3 * one + head + one
    again = StepOptions(16, activation_checkpointing=True)
    assert token_bytes(SHAPE, again) == 3 * 8 * 4 + one + head + one


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
    free = -(-step_bytes(SHAPE, WIDE, size) * 10 // 9)
    assert starting_micro_batch(free, SHAPE, WIDE, 64) == size
    assert starting_micro_batch(free - 2, SHAPE, WIDE, 64) == max(1, size // 2)


def test_a_share_that_is_no_power_of_two():
    free = -(-step_bytes(SHAPE, WIDE, 11) * 10 // 9)
    assert starting_micro_batch(free, SHAPE, WIDE, 12) == 6
    assert starting_micro_batch(0, SHAPE, WIDE, 12) == 1


def test_a_head_in_one_piece_holds_all_logits():
    from dataclasses import replace

    whole = replace(SHAPE, chunked_head=False)
    assert token_bytes(whole, NARROW) - token_bytes(SHAPE, NARROW) == 50 * (2 + 4 + 4)
    large = GPU_CHUNK_ELEMENTS // (16 * 50) + 1  # sequences, more than a chunk of logits
    found = [step_bytes(one, NARROW, large) for one in (whole, SHAPE)]
    assert found[0] - found[1] == (large * 16 * 50 - GPU_CHUNK_ELEMENTS) * (4 + 4 + 2)
    assert step_bytes(whole, NARROW, 1) == step_bytes(SHAPE, NARROW, 1)


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
    forward_to_loss(model)
    per_token = (kept_bytes(model, 3, precision) - kept_bytes(model, 1, precision)) / 64
    shape, options = ModelShape.of(config, 0, 0), StepOptions(32, precision)
    assert 6 * layer_bytes(shape, options) == pytest.approx(per_token, rel=0.08)
    # The peak, with the gradients of a layer, is above what is kept.
    assert token_bytes(shape, options) > per_token
