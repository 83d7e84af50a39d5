"""What a checkpoint costs: the arithmetic on known times, and a pico model measured for real."""

from __future__ import annotations

import json
import sys

import pytest
from evaluation_toys import write_model
from transformers import AutoConfig, AutoModelForCausalLM

from revocab.errors import RevocabError
from revocab.evaluation import efficiency
from revocab.evaluation.efficiency import measure, read_text, timings, writing_seconds
from revocab.evaluation.options import EfficiencyJob, EfficiencyOptions, Hardware
from revocab.io import read_json, read_jsonl, write_jsonl
from revocab.models.parameters import cache_bytes_per_token
from revocab.models.weights import parameter_bytes

SMALL = EfficiencyJob(
    run="r", step=5, corpus="c", language="it", engine="transformers",
    prompts=4, prompt_characters=60, new_tokens=6, batch_size=2, repeats=1,
)  # fmt: skip


@pytest.fixture
def text(tmp_path):
    rows = [{"id": str(i), "text": f"il fornaio vende il pane al gatto {i}"} for i in range(12)]
    write_jsonl(tmp_path / "heldout.jsonl.gz", rows)
    return tmp_path / "heldout.jsonl.gz"


class Clock:
    """A model that reads a token in 1 ms and writes a batch's next one in 10 ms."""

    context_length = 100

    def run(self, prompts, new_tokens):
        return sum(map(len, prompts)) / 1000 + 0.010 * (new_tokens - 1)


def test_times_are_taken_apart():
    prompts = [[0] * 20] * 4
    found = timings(Clock(), prompts, EfficiencyOptions(new_tokens=11, batch_size=2, repeats=3))
    assert found["prompt"] == pytest.approx(0.080)
    # Two batches, each of two rows, write ten tokens after the first in 0.1 s.
    assert found["rate"] == pytest.approx(4 * 10 / 0.2)
    assert found["first"] == pytest.approx(0.020)
    assert found["step"] == pytest.approx(0.010)


@pytest.mark.parametrize(
    ("whole", "reading", "expected"),
    [
        ([0.30, 0.21, 0.90], [0.10, 0.40, 0.11], 0.11),  # each disturbed now and then
        ([0.30, 0.25], [0.50, 0.40], 0.25),  # reading alone took longer: all counts as writing
    ],
)
def test_writing_takes_time_on_a_busy_machine(whole, reading, expected):
    assert writing_seconds(whole, reading) == pytest.approx(expected)


def test_text_is_cut_by_characters(text):
    found = read_text(text, 50)
    assert len(found) == 50 and found.startswith("il fornaio vende il pane al gatto 0\nil")
    with pytest.raises(RevocabError, match="5000 wanted; lower evaluation"):
        read_text(text, 5000)
    whole = "\n".join(row["text"] for row in read_jsonl(text))
    assert read_text(text, len(whole)) == whole
    with pytest.raises(RevocabError, match=f" {len(whole)} characters, {len(whole) + 1} wanted"):
        read_text(text, len(whole) + 1)


def test_a_real_model_has_rates_of_known_times(text, tmp_path, monkeypatch):
    folder = write_model(tmp_path / "model", context_length=256)
    found = measure(folder, text, SMALL, Hardware())
    timed = ("_per_second", "_seconds", "_memory_bytes", "parameter_bytes")
    assert all(found[name] > 0 for name in found if name.endswith(timed))
    assert found["characters"] == 240 and found["engine"] == "transformers"
    seconds = {"prompt": 2.0, "rate": 50.0, "first": 0.5, "step": 0.25}
    monkeypatch.setattr(efficiency, "timings", lambda *_: seconds)
    found = measure(folder, text, SMALL, Hardware())
    per_token = 240 / found["tokens"]
    cache = cache_bytes_per_token(AutoConfig.from_pretrained(folder), "float32")
    assert found["tokens"] > 4
    expected = {
        "prompt_characters_per_second": 120, "prompt_tokens_per_second": found["tokens"] / 2,
        "generated_tokens_per_second": 50, "generated_characters_per_second": 50 * per_token,
        "first_token_seconds": 0.5, "seconds_per_token": 0.25,
        "seconds_per_100_characters": 25 / per_token,
        "cache_bytes_per_1000_characters": cache * 1000 / per_token,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    words = len(read_text(text, 240).split())
    assert found["tokens_per_word"] == pytest.approx(found["tokens"] / words)


def test_parameter_bytes_are_those_of_the_loaded_model(tmp_path):
    folder = write_model(tmp_path / "model")
    model = AutoModelForCausalLM.from_pretrained(folder)
    count = sum(one.numel() for one in model.parameters())
    assert parameter_bytes(folder, "float32") == parameter_bytes(folder, "auto") == 4 * count
    assert parameter_bytes(folder, "bfloat16") == 2 * count
    assert parameter_bytes(tmp_path, "float32") is None


def test_cache_bytes_by_hand(tmp_path):
    folder = write_model(tmp_path / "model")
    loaded = AutoConfig.from_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    heads = config["num_key_value_heads"]
    width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    expected = 2 * config["num_hidden_layers"] * heads * width * 4
    assert cache_bytes_per_token(loaded, "float32") == expected
    assert cache_bytes_per_token(loaded, "bfloat16") == expected // 2
    assert cache_bytes_per_token(loaded, "auto") == expected


def test_a_prompt_longer_than_the_context_is_refused(text, tmp_path):
    folder = write_model(tmp_path / "short", context_length=16)
    with pytest.raises(RevocabError, match="its context has 16; lower"):
        measure(folder, text, SMALL, Hardware())


def test_vllm_measures_the_same_text(vllm_interpreter, call, text, tmp_path):
    folder = write_model(tmp_path / "model", context_length=256, head_width=32)
    found = {}
    for engine, python in (("vllm", vllm_interpreter), ("transformers", sys.executable)):
        out = tmp_path / f"{engine}.json"
        done = call(
            *(python, "-m", "revocab", "measure_efficiency", "--run", "r", "--step", 5),
            *("--model", folder, "--text", text, "--corpus", "c", "--language", "it"),
            *("--engine", engine, "--device", "cpu", "--prompts", 4, "--batch-size", 2),
            *("--prompt-characters", 60, "--new-tokens", 6, "--repeats", 1, "--out", out),
        )
        assert done.returncode == 0, done.stderr[-3000:]
        found[engine] = read_json(out)
    ours, theirs = found["vllm"], found["transformers"]
    timed = ("_per_second", "seconds", "peak_memory_bytes", "seconds_per_token", "_characters")
    same = [name for name in ours if not name.endswith(timed) and name != "engine"]
    assert {name: ours[name] for name in same} == {name: theirs[name] for name in same}
    assert {"tokens", "parameter_bytes", "threads", "characters_per_token"} <= {*same}
    name = "cache_bytes_per_1000_characters"
    assert ours[name] == theirs[name]
    for one in found.values():
        assert all(one[name] > 0 for name in one if name.endswith(("_second", "_seconds")))
