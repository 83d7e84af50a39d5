"""Parts of training: loss, settings, data checks, resume state, exported checkpoints."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import training_pico as pico
from safetensors.torch import save_file
from torch.nn import functional

from revocab.closed import checked
from revocab.errors import RevocabError
from revocab.io import read_csv
from revocab.training import checkpoints, resume_state
from revocab.training.data.packed_rows import check_fit, open_packed
from revocab.training.loop import Training
from revocab.training.loss import linear_cross_entropy, next_token_loss
from revocab.training.records import HELDOUT, LOSSES, LossTables
from revocab.training.run import MicroBatch, Settings, fingerprint
from revocab.training.train import train

RECIPE = {"steps": 10, "batch_size": 8, "learning_rate": 1e-3, "checkpoint_every": 5, "seed": 1}


# Loss ---------------------------------------------------------------------------------------------


def loss_inputs(dtype=torch.float32):
    generator = torch.Generator().manual_seed(3)
    hidden_ND = torch.randn(150, 8, generator=generator, dtype=dtype, requires_grad=True)
    weight_VD = torch.randn(40, 8, generator=generator, dtype=dtype, requires_grad=True)
    return hidden_ND, weight_VD, torch.randint(0, 40, (150,), generator=generator)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_linear_cross_entropy_and_gradients_equal_the_full_logits(scale, monkeypatch):
    monkeypatch.setattr("revocab.training.loss.chunk_rows", lambda *_: 64)  # three chunks
    results = []
    for function in (
        linear_cross_entropy,
        lambda hidden, weight, labels: functional.cross_entropy(hidden @ weight.T, labels),
    ):
        hidden_ND, weight_VD, labels_N = loss_inputs()
        loss = function(hidden_ND, weight_VD, labels_N)
        (loss * scale).backward()
        results.append((loss.detach(), hidden_ND.grad, weight_VD.grad))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-7)


def test_linear_cross_entropy_without_gradients_or_of_a_frozen_head():
    hidden_ND, weight_VD, labels_N = loss_inputs()
    with torch.no_grad():
        loss = linear_cross_entropy(hidden_ND, weight_VD, labels_N)
    expected = functional.cross_entropy(hidden_ND @ weight_VD.T, labels_N)
    torch.testing.assert_close(loss, expected.detach())
    linear_cross_entropy(hidden_ND, weight_VD.detach(), labels_N).backward()
    assert hidden_ND.grad.abs().sum() > 0


def test_linear_cross_entropy_under_autocast_keeps_float32_gradients():
    hidden_ND, weight_VD, labels_N = loss_inputs()
    with torch.autocast("cpu", torch.bfloat16):
        loss = linear_cross_entropy(hidden_ND, weight_VD, labels_N)
    loss.backward()
    expected = functional.cross_entropy(hidden_ND @ weight_VD.T, labels_N)
    assert loss.dtype == hidden_ND.grad.dtype == weight_VD.grad.dtype == torch.float32
    assert loss.item() == pytest.approx(expected.item(), rel=0.02)


def test_a_head_with_a_scale_takes_the_models_own_logits():
    """Cohere multiplies its logits: the short way would be wrong."""
    from transformers import CohereConfig, CohereForCausalLM

    torch.manual_seed(0)
    config = CohereConfig(
        vocab_size=40, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, logit_scale=0.5,
    )  # fmt: skip
    model = CohereForCausalLM(config)
    ids = torch.randint(5, 40, (2, 7))
    expected = model(input_ids=ids, labels=ids).loss
    torch.testing.assert_close(next_token_loss(model, ids), expected)


# Settings -----------------------------------------------------------------------------------------


def test_every_wrong_setting_is_named():
    wrong = {"steps": 0, "schedule": "quadratic", "precision": "float16", "warmup_steps": 11}
    with pytest.raises(RevocabError) as caught:
        checked(Settings, {**RECIPE, **wrong})
    text = "\n".join(caught.value.problems)
    for key in ("steps: ", "schedule: ", "precision: "):
        assert key in text


@pytest.mark.parametrize(
    ("requested", "processes", "expected"),
    [
        (None, 1, (8, 1)), (2, 1, (2, 4)), (None, 2, (4, 1)), (2, 2, (2, 2)),
        (3, 1, (2, 4)), (16, 1, (8, 1)), (3, 4, (2, 1)), (None, 3, None), (2, 16, None),
    ],
)  # fmt: skip
def test_micro_batches_make_up_the_batch(requested, processes, expected, tmp_path):
    if expected:
        micro = MicroBatch.of(8, requested, processes, tmp_path)
        assert (micro.size, micro.share // micro.size) == expected
        assert micro.share * processes == 8
    else:
        with pytest.raises(RevocabError, match="--batch-size: 8 "):
            MicroBatch.of(8, requested, processes, tmp_path)


def test_heldout_loss_is_measured_at_checkpoints_and_at_its_own_interval():
    assert Settings(**RECIPE).heldout_steps == [0, 5, 10]
    assert Settings(**RECIPE, heldout_every=4).heldout_steps == [0, 4, 5, 8, 10]
    # What is not given is not described: as before there was a choice.
    assert not {"heldout_every", "keep_best"} & Settings(**RECIPE).described().keys()
    assert "keep_best" not in Settings(**RECIPE).canonical()


def test_the_fingerprint_follows_settings_and_inputs():
    first = fingerprint(Settings(**RECIPE), {"packed": "a"})
    assert first == fingerprint(Settings(**RECIPE), {"packed": "a"})
    assert first != fingerprint(Settings(**{**RECIPE, "seed": 2}), {"packed": "a"})
    assert first != fingerprint(Settings(**RECIPE, heldout_every=5), {"packed": "a"})
    assert first != fingerprint(Settings(**RECIPE), {"packed": "b"})


# Data ---------------------------------------------------------------------------------------------


@pytest.fixture
def packed_folder(tmp_path):
    pico.write_packed(tmp_path, np.arange(24, dtype=np.uint16).reshape(6, 4))
    return tmp_path


def test_rows_come_as_whole_batches_in_order(packed_folder):
    packed = open_packed(packed_folder, 5)
    batch = packed.batch([0, 2])["input_ids"]
    assert batch.dtype == torch.int64
    assert batch.tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    assert packed.rows == 5
    with pytest.raises(RevocabError, match="6 rows, 7 needed"):
        open_packed(packed_folder, 7)


def test_data_that_does_not_fit_the_model(packed_folder):
    from transformers import MistralConfig

    config = MistralConfig(vocab_size=20, max_position_embeddings=3)
    packed = open_packed(packed_folder, 5)
    with pytest.raises(RevocabError) as caught:
        check_fit(packed, config, packed_folder, {"vocabulary_size": 24, "sequence_length": 4})
    assert len(caught.value.problems) == 4
    assert "ids up to 23" in caught.value.problems[0]


# Tables and resume state ------------------------------------------------------------------------


def test_tables_continue_from_the_copies_of_a_state(tmp_path):
    tables = LossTables(tmp_path, resume_from=None)
    tables.append(LOSSES, [(1, 8, 2.5, 1.0, 0.0, 0.5)])
    tables.append(HELDOUT, [(0, "c", "it", 2.0, 1.5, 8, 20)])
    (tmp_path / "kept").mkdir()
    tables.copy_to(tmp_path / "kept")
    tables.append(LOSSES, [(2, 16, 2.4, 1.0, 0.1, 0.5)])
    tables.close()
    LossTables(tmp_path, resume_from=tmp_path / "kept").close()
    assert (tmp_path / LOSSES).read_text() == (
        "step,tokens,loss,bits_per_byte,learning_rate,gradient_norm\n1,8,2.5,1.0,0.0,0.5\n"
    )
    assert (tmp_path / HELDOUT).read_text().splitlines()[1] == "0,c,it,2.0,1.5,8,20"


def sealed_states(root, *steps):
    resume_state.begin(root, "mark")
    for step in steps:
        folder = root / f"{resume_state.PREFIX}{step}"
        folder.mkdir()
        (folder / "optimizer.pt").write_bytes(b"numbers")
        resume_state.seal(folder)


@pytest.mark.parametrize("harm", ["damaged", "unfinished", "incomplete"])
def test_a_bad_state_gives_way_to_the_one_before(tmp_path, harm):
    sealed_states(tmp_path / "s", 5, 10)
    bad = tmp_path / "s" / "checkpoint-10"
    if harm == "damaged":
        (bad / "optimizer.pt").write_bytes(b"numberz")
    else:
        (bad / (resume_state.CHECKSUMS if harm == "unfinished" else "optimizer.pt")).unlink()
    told = []
    assert resume_state.find(tmp_path / "s", "mark", told.append).name == "checkpoint-5"
    assert "checkpoint-10: unfinished or damaged" in told[0]
    assert not bad.exists()


def test_the_newest_states_are_kept_and_used_for_the_same_settings(tmp_path):
    sealed_states(tmp_path / "s", 5, 10, 100)
    assert resume_state.find(tmp_path / "s", "mark", print).name == "checkpoint-100"
    told = []
    assert resume_state.find(tmp_path / "s", "other", told.append) is None
    assert "other settings" in told[0]
    assert resume_state.find(tmp_path / "absent", "mark", told.append) is None
    assert [one.name for one in resume_state.states(tmp_path / "s")] == [
        "checkpoint-100", "checkpoint-10"
    ]  # fmt: skip


# Export -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_export_keeps_dtype_tying_and_companions(tmp_path, tied, dtype):
    from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=30, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, tie_word_embeddings=tied, eos_token_id=2,
    )  # fmt: skip
    LlamaForCausalLM(config).to(dtype).save_pretrained(tmp_path / "source")
    (tmp_path / "source" / "tokenizer.json").write_text("{}")
    assert checkpoints.stored_dtype(tmp_path / "source") == dtype
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "source", dtype=torch.float32)
    with torch.no_grad():
        model.model.embed_tokens.weight += 1.0
    folder = checkpoints.step_folder(tmp_path, 25)
    checkpoints.export(model, model.state_dict(), dtype, tmp_path / "source", folder)
    assert folder.name == "step-000025"
    for name in ("config.json", "generation_config.json", "tokenizer.json"):
        assert (folder / name).read_bytes() == (tmp_path / "source" / name).read_bytes()
    assert checkpoints.stored_dtype(folder) == dtype
    again = AutoModelForCausalLM.from_pretrained(folder)
    assert again.dtype == dtype
    assert (again.lm_head.weight is again.model.embed_tokens.weight) == tied
    for (name, ours), theirs in zip(
        model.state_dict().items(), again.state_dict().values(), strict=True
    ):
        assert torch.equal(ours.to(dtype), theirs), name


def test_the_stored_dtype_is_that_of_most_bytes(tmp_path):
    small = {name: torch.zeros(4, dtype=torch.bfloat16) for name in "abc"}
    save_file(small | {"d": torch.zeros(4)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text("{}")
    assert checkpoints.stored_dtype(tmp_path) == torch.bfloat16
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(RevocabError, match=r"no \*\.safetensors"):
        checkpoints.stored_dtype(tmp_path)


def test_the_time_that_is_left_by_hand():
    """Of ten steps of two seconds four are done; two evaluations of 3 s and an export of 5 s."""
    loop = SimpleNamespace(
        settings=SimpleNamespace(steps=10, batch_size=4),
        packed=SimpleNamespace(sequence_length=16),
        step=4, steps=4, step_seconds=8.0, heldout_steps=[2, 4, 5, 10], checkpoint_steps=[4, 10],
        seconds={"evaluation": [2.0, 4.0], "export": [5.0], "state": []}, last_loss=None,
    )  # fmt: skip
    assert Training.progress(loop) == "32 tokens/s, 23 s left"
    loop.last_loss = 1.25
    loop.seconds["state"] = [3 * resume_state.LOST_AT_MOST]  # saving takes three times as long
    assert Training.progress(loop) == "loss 1.250, 32 tokens/s, 1 min 32 s left"


def test_an_architecture_without_fused_attention_trains(tmp_path):
    """Gemma 2 caps the logits of its attention, which torch's fused kernel does not."""
    from transformers import Gemma2Config, Gemma2ForCausalLM

    inputs = pico.write_inputs(tmp_path)
    torch.manual_seed(0)
    config = Gemma2Config(
        vocab_size=pico.VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=4, sliding_window=8,
    )  # fmt: skip
    Gemma2ForCausalLM(config).save_pretrained(inputs / "model")
    train(pico.run_of(inputs, tmp_path / "run"))
    losses = [float(row["loss"]) for row in read_csv(tmp_path / "run" / HELDOUT)]
    assert losses[-1] < losses[0]
