"""What a training will take, by hand."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from revocab.config import read
from revocab.models.parameters import model_config
from revocab.training.estimates import USED, ModelShape, StepOptions, estimate, step_bytes
from revocab.training.recipe import TrainingOptions
from revocab.training.run import Settings

CONFIG = LlamaConfig(
    vocab_size=100, hidden_size=8, intermediate_size=20, num_hidden_layers=2,
    num_attention_heads=2, num_key_value_heads=1, tie_word_embeddings=False,
)  # fmt: skip
#: Embeddings and head; of a layer queries, keys, values, output, MLP and norms; the last norm.
LAYER = 8 * 8 + 2 * 8 * 4 + 8 * 8 + 3 * 8 * 20
PARAMETERS = 2 * 100 * 8 + 2 * (LAYER + 2 * 8) + 8
GIVEN = {"batch_size": 8, "learning_rate": 1e-3, "seed": 1}


@pytest.fixture(scope="module")
def model():
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(CONFIG)


@pytest.fixture(scope="module")
def source():
    """The same with 60 rows."""
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(
            LlamaConfig(**{**CONFIG.to_dict(), "vocab_size": 60})
        )


def test_everything_trained(model):
    settings = Settings(steps=10, checkpoint_every=4, **GIVEN)
    found = estimate(model, torch.bfloat16, settings, 16, {"micro_batch": 2})
    assert found.tokens == 10 * 8 * 16
    # 6 for each weight of a matrix that is not looked up, and attention.
    assert found.flops == found.tokens * (6 * (100 * 8 + 2 * LAYER) + 12 * 2 * 8 * 16)
    assert found.seconds(1e6) == found.flops / 1e6
    assert found.checkpoints == 3 * PARAMETERS * 2  # at 4, 8 and 10
    assert found.states == 3 * 12 * PARAMETERS
    assert found.disk == found.checkpoints + found.states
    shape = ModelShape.of(CONFIG, PARAMETERS, PARAMETERS)
    assert (found.micro_batch, found.memory) == (2, step_bytes(shape, StepOptions(16), 2))


def test_a_stage_that_trains_embeddings_alone(model):
    stages = [{"name": "rows", "steps": 10, "learning_rate": 1e-3, "train": ["embeddings"]}]
    settings = Settings(checkpoint_every=10, stages=stages, **GIVEN)
    found = estimate(model, torch.float32, settings, 16, {})
    assert found.states == 3 * 4 * (PARAMETERS + 2 * 2 * 100 * 8)
    assert found.checkpoints == PARAMETERS * 4
    assert found.micro_batch == 8


@pytest.mark.parametrize("shared", [False, True])
def test_vocabulary_adapters(model, source, shared):
    """Two matrices of 100 rows of 60 source rows, with two moments each, or one; 8 wide."""
    rows = {"name": "rows", "steps": 10, "learning_rate": 1e-3, "train": ["embeddings"]}
    plain, adapted = (
        estimate(
            model,
            torch.float32,
            Settings(checkpoint_every=10, stages=[{**rows, **more}], **GIVEN),
            16,
            {},
            source=source,
        )
        for more in ({}, {"adapter": {"auxiliary": 0.1, "shared": shared}})
    )
    each, norm = (1, 2 * 16 * 16) if shared else (2, 2 * 8 * 8)
    assert adapted.memory - plain.memory == 4 * 3 * each * 100 * 60
    assert adapted.states - plain.states == 3 * 4 * 3 * each * 100 * 60
    assert adapted.flops - plain.flops == 10 * (2 * 4 * 100 * 60 * 8 + each * 100 * norm)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_source_model_that_a_stage_learns_from(model, source, precision):
    """Its weights, in the precision of the forward pass; its forward pass, for 4 of 10 steps."""
    stages = [
        {"name": "learn", "steps": 4, "learning_rate": 1e-3, "train": "new_rows", "distil": {}},
        {"name": "rest", "steps": 6, "learning_rate": 1e-3},
    ]
    settings = Settings(checkpoint_every=10, stages=stages, precision=precision, **GIVEN)
    alone, beside = (
        estimate(model, torch.float32, settings, 16, {}, source=other) for other in (None, source)
    )
    wide = {"float32": 4, "bfloat16": 2}[precision]
    weights = PARAMETERS - 2 * 40 * 8
    assert beside.memory - alone.memory == wide * weights
    forward = 2 * 2 * LAYER + 4 * 2 * 8 * 16
    assert beside.flops - alone.flops == pytest.approx(4 * 8 * 16 * forward)
    # It leaves less to the micro batch.
    free = int(alone.memory / USED) + 1
    sizes = (
        estimate(model, torch.float32, settings, 16, {}, free=free, source=other).micro_batch
        for other in (None, source)
    )
    assert [*sizes] == [8, 4]


def test_processes_and_free_memory(model):
    settings = Settings(steps=10, checkpoint_every=10, **GIVEN)
    assert estimate(model, torch.float32, settings, 16, {}, processes=4).micro_batch == 2
    assert estimate(model, torch.float32, settings, 16, {}, free=10**12).micro_batch == 8
    assert estimate(model, torch.float32, settings, 16, {}, free=1).micro_batch == 1
    asked = {"micro_batch": 4}
    assert estimate(model, torch.float32, settings, 16, asked, free=1).micro_batch == 4
    sharded = estimate(model, torch.float32, settings, 16, {"fsdp": 1}, processes=2)
    shape = ModelShape.of(CONFIG, PARAMETERS, PARAMETERS)
    assert sharded.memory == step_bytes(shape, StepOptions(16, sharded_over=2), 4)


def test_the_experiment_for_one_gpu_fits_24_gb(repository):
    """The figures of docs/machines.md; the whole batch at once would take five such cards."""
    experiment = read(repository / "config/one-gpu.yaml")
    recipe, shape = experiment.recipes["adapt"], experiment.parameters[1]
    settings = Settings(**recipe.model_dump(include=set(TrainingOptions.model_fields)), seed=17)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(
            model_config(shape.architecture, shape.vocabulary_size)
        )
        model.tie_weights()
    given = (model, torch.bfloat16, settings, recipe.sequence_length, {}, 1)
    found = estimate(*given, free=24 * 10**9)
    assert (found.tokens, found.micro_batch) == (131_072_000, 8)
    sizes = [round(one / 1e9, 1) for one in (found.memory, found.checkpoints, found.states)]
    assert sizes == [19.4, 1.3, 4.5]
    assert found.flops == pytest.approx(1.54e17, rel=0.01)
    assert estimate(*given).memory > 5 * 24e9
