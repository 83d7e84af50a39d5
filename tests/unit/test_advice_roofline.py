"""Times and sizes of a tiny model, computed by hand; totals beside the formulas of training."""

from __future__ import annotations

import math

import pytest

from revocab.costs.devices import (
    Service,
    Shape,
    break_even,
    known,
    memory,
    reading,
    training,
    training_hours,
    writing,
)
from revocab.costs.model import Outline, operations, parameters_of
from revocab.errors import RevocabError
from revocab.training.stages import Stage, StagePlan

TINY = {
    "model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 100, "dtype": "bfloat16",
}  # fmt: skip
#: A million operations and a thousand bytes a second: moving is what takes time.
SLOW_MEMORY = Service(1e6, 1e3, batch=4, context=10, length=32)
FAST_MEMORY = Service(1e6, 1e12, batch=4, context=10, length=32)


@pytest.fixture
def shape() -> Shape:
    return Shape.of(TINY)


def test_a_shape_has_the_sizes_of_its_configuration(shape):
    # A block: 64 + 32 + 32 + 64 for attention, 3 x 128 for the MLP, 2 norms of 8; a last norm.
    assert (shape.body, shape.rest) == (2 * 576, 2 * (576 + 16) + 8)
    assert (shape.head, shape.tables, shape.parameters) == (800, 2, 1192 + 1600)
    assert (shape.attended, shape.cached, shape.itemsize) == (16, 16, 2)
    assert Shape.of({**TINY, "tie_word_embeddings": True}).parameters == 1192 + 800
    assert shape.resized(150).parameters == 1192 + 2400


def test_training_computes(shape):
    # Half a token a character: 500,000 tokens, 6 operations a weight, a million a second.
    found = training(shape, 0.5, SLOW_MEMORY)
    assert found == {"body": 0.5 * 6 * 1152, "head": 0.5 * 6 * 800, "attention": 0.5 * 12 * 16 * 32}


def test_writing_moves_the_weights_once_for_the_batch_and_the_cache_for_each(shape):
    tokens, bytes_a_second, positions = 5e5, 1e3, 10 * 0.5
    found = writing(shape, 0.5, SLOW_MEMORY)
    assert found["body"] == pytest.approx(tokens * 1152 * 2 / 4 / bytes_a_second)
    assert found["head"] == pytest.approx(tokens * 800 * 2 / 4 / bytes_a_second)
    assert found["attention, cache"] == pytest.approx(tokens * 16 * 2 * positions / bytes_a_second)


def test_writing_computes_where_memory_is_fast(shape):
    found = writing(shape, 0.5, FAST_MEMORY)
    assert found == {
        "body": 0.5 * 2 * 1152,
        "head": 0.5 * 2 * 800,
        "attention, cache": 0.5 * 64 * 5,
    }


def test_reading_needs_no_head(shape):
    assert reading(shape, 0.5, FAST_MEMORY) == {"body": 1152, "attention": 0.5 * 64 * 2.5}


def test_memory(shape):
    found = memory(shape, 0.5, SLOW_MEMORY)
    assert found["weights"] == 2 * shape.parameters
    assert found["cache"] == 4 * 10 * 0.5 * 16 * 2  # texts, characters, tokens each, numbers, bytes
    # Weights of 4 bytes and their copy of 2, a gradient and two moments of 4.
    assert found["training states"] == 18 * shape.parameters


@pytest.mark.parametrize("model", ["mistralai/Mistral-7B-v0.1", "HuggingFaceTB/SmolLM2-135M"])
def test_terms_add_up_to_what_trainings_are_counted_with(model):
    config = known("models")[model]
    outline, shape = Outline(config), Shape.of(config)
    one = Service(1.0, 1e30, batch=1, context=64, length=128)
    plan = StagePlan([Stage(name="all", steps=1, learning_rate=1e-3)])
    counted = 1e6 * operations(outline, plan.groups(outline)).flops(128)
    assert sum(training(shape, 1.0, one).values()) == pytest.approx(counted)
    # Of a pass over 64 positions each token attends to half of them in the mean.
    passed = 1e6 * (operations(outline).flops(64) - 2 * shape.head - 2 * 64 * shape.attended)
    assert sum(reading(shape, 1.0, one).values()) == pytest.approx(passed)
    assert shape.parameters == parameters_of(outline)


def test_what_pays_is_what_training_takes_over_what_a_character_saves(shape):
    hours = training_hours(shape, 3.6e9, SLOW_MEMORY)
    each = 6 * (1152 + 800) + 12 * 16 * 32
    assert hours == pytest.approx(3.6e9 * each / 1e6 / 3600)
    before, after = {"a": 7.0}, {"a": 5.0}
    assert break_even(hours, before, after) == pytest.approx(hours * 3600 / 2 * 1e6)
    assert break_even(hours, before, before) == math.inf


def test_a_configuration_without_sizes_is_refused():
    with pytest.raises(RevocabError, match="without hidden_size"):
        Shape.of({key: value for key, value in TINY.items() if key != "hidden_size"})
