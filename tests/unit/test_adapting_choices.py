"""What `adapt` chooses, by hand; and what it refuses, in one line each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from revocab.errors import RevocabError
from revocab.experiment import validate
from revocab.product import inputs as speed
from revocab.product.adapt import adapt
from revocab.product.choices import (
    HELDOUT_BYTES,
    HELDOUT_BYTES_PER_TOKEN,
    MEASURED_SHARE,
    MEASURINGS,
    READING,
    ExperimentFile,
    affordable_heldout,
    bytes_by_language,
    choose,
    mixture,
    shares,
    vocabulary_size,
)
from revocab.product.inputs import Source, Text, look_at_stand_in, measure

SOURCE = Source("model", tokens=1000, context=2048, width=512, parameters=1_000_000)


def text(language: str, size: int) -> Text:
    return Text(language, Path(f"/{language}.txt"), size, documents=100)


@pytest.mark.parametrize(
    ("stated", "base", "size", "trained", "tokens"),
    [
        (None, 1000, 100_000, None, 1152),  # 200 new: 1,200, and 1,152 is 18 x 64
        (None, 1000, 10_000_000, None, 1984),  # 20,000 new would be more than the base has
        (1500, 1000, 25_000, None, 1500),
        (1500, 1000, 24_999, None, "at most 1499"),
        (1000, 1000, 10**9, None, "has 1,000 tokens"),
        (None, 1000, 31_999, None, "32,000"),
        (None, 49_152, 3_830_006, 10_240, 49_344),  # 204 new, in multiples of 64; not 7,616
        (None, 49_152, 3_830_006, 3_199, "3,200"),
        (None, 49_152, 3_830_006, 3_200, 49_216),
        (56_768, 49_152, 3_830_006, 76_160, 56_768),  # ten for each of 7,616
        (56_768, 49_152, 3_830_006, 76_159, "at most 56767"),
    ],
)
def test_a_vocabulary_is_as_large_as_text_and_training_carry(stated, base, size, trained, tokens):
    if isinstance(tokens, int):
        assert vocabulary_size(stated, base, size, trained) == tokens
        return
    with pytest.raises(RevocabError, match=tokens):
        vocabulary_size(stated, base, size, trained)


@pytest.mark.parametrize("gain", [1.0, 2.0])
def test_measuring_takes_at_most_a_fourth_of_the_time(gain):
    for tokens, texts in ((50_000, 1), (200_000, 2), (400_000, 3)):
        held_out = affordable_heldout(tokens, texts, gain) * texts / HELDOUT_BYTES_PER_TOKEN
        measuring = MEASURINGS * held_out * READING * gain  # in steps' tokens, as fast as training
        assert measuring / (measuring + tokens) <= MEASURED_SHARE + 0.001
    assert affordable_heldout(10**9, 1, gain) == HELDOUT_BYTES


@pytest.mark.parametrize(
    ("stored", "amx", "precision"),
    [("bfloat16", True, "bfloat16"), ("bfloat16", False, "float32"), ("float32", True, "float32")],
)
def test_bfloat16_where_model_and_processor_have_it(stored, amx, precision, monkeypatch, tmp_path):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr(speed, "has_amx", lambda: amx)
    assert speed.precision_for(replace(SOURCE, stored=stored)) == precision


@pytest.mark.parametrize(("capability", "precision"), [(7, "float32"), (8, "bfloat16")])
def test_a_gpu_that_emulates_bfloat16_trains_in_float32(capability, precision, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.current_device", lambda: 0)
    properties = SimpleNamespace(major=capability)
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda device: properties)
    # Torch says that such a GPU has bfloat16, as it can hold tensors of it.
    monkeypatch.setattr("torch.cuda._check_bf16_tensor_supported", lambda device: True)
    assert speed.precision_for(replace(SOURCE, stored="bfloat16")) == precision


def test_a_method_that_reads_a_helper_needs_one_and_no_other_takes_it():
    for flags, problem in (
        (["--method", "sava"], "--helper"),
        (["--helper", "model"], "--helper"),
        (["--method", "no-such"], "no-such"),
    ):
        with pytest.raises(RevocabError, match=problem):
            adapt(["model", "--text", "it=it.txt", *flags])


def test_shares_are_by_size_and_sum_to_one():
    texts = [text("it", 100), text("el", 200), text("sw", 400)]
    assert shares(bytes_by_language(texts)) == {"it": 0.1429, "el": 0.2857, "sw": 0.5714}
    assert shares({"a": 1, "b": 999_999}) == {"a": 0.0001, "b": 0.9999}
    assert shares({"a": 0, "b": 0, "c": 0}) == {"a": 0.0001, "b": 0.0001, "c": 0.9998}
    both = mixture(texts[:2], [text("en", 50)])
    assert both == {"it": 0.25, "el": 0.5, "en": 0.25}


def test_steps_are_what_the_text_or_the_time_allows():
    texts = [text("it", 4_000_000)]
    # Four passes over a million tokens; rows of 512, 8 a step: 976 steps.
    fast = choose(SOURCE, texts, [], minutes=10, speed=1e9)
    assert (fast.row, fast.rows, fast.steps) == (512, 8, 4_000_000 // 4096)
    # A minute is for what is around training, ten seconds for the test of speed, a fourth of the
    # rest for measuring.
    slow = choose(SOURCE, texts, [], minutes=10, speed=300.0)
    assert slow.steps == int(530 * 0.75 * 300) // (slow.rows * 512)
    assert 9 < slow.minutes <= 10
    # Of a mixture three quarters are the text, so that four passes are more tokens.
    mixed = choose(SOURCE, texts, [text("en", 1000)])
    assert mixed.steps == int(4_000_000 / 0.75) // 4096
    short = choose(SOURCE, texts, [], tokens=40_960)
    assert (short.rows, short.steps) == (1, 80)
    assert short.embedding_rate == pytest.approx(8e-4)
    assert replace(SOURCE, context=64).row == 64


def test_the_file_is_a_valid_experiment_that_says_why(tmp_path):
    for name in ("it", "en"):
        (tmp_path / f"{name}.txt").write_text("a b\n" * 20_000, encoding="utf-8")
    texts = [measure(name, tmp_path / f"{name}.txt") for name in ("it", "en")]
    assert texts[0].by_line and texts[0].documents == 20_000
    source = look_at_stand_in()
    choices = choose(source, texts[:1], texts[1:], tokens=10_000)
    file = ExperimentFile("revocab adapt --demo", "Stand-in", None, 2048, "fvt", choices)
    written = file.text()
    experiment = validate(yaml.safe_load(written))
    assert experiment.expanded["adapted-extended-by-128-tokens"].steps[-1] == choices.steps
    # What is marked out can be put in.
    more = validate(yaml.safe_load(written.replace("# more:", "more:").replace("# unch", "unch")))
    start = ("adapted-extended-by-128-tokens", choices.steps)
    assert more.expanded["adapted-more"].start == start
