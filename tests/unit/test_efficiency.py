"""What a checkpoint costs: the arithmetic on known times, and a pico model measured for real."""

from __future__ import annotations

import json
import runpy
import sys

import pytest
from evaluation_toys import write_model

from revocab.errors import RevocabError
from revocab.evaluation import efficiency
from revocab.evaluation.efficiency import Options, measure, read_text, timings
from revocab.io import write_jsonl

SMALL = Options(
    prompts=4, prompt_characters=60, new_tokens=6, batch_size=2, repeats=1, engine="transformers"
)


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
    found = timings(Clock(), prompts, Options(new_tokens=11, batch_size=2, repeats=3))
    assert found["prompt"] == pytest.approx(0.080)
    # Two batches, each of two rows, write ten tokens after the first in 0.1 s.
    assert found["rate"] == pytest.approx(4 * 10 / 0.2)
    assert found["first"] == pytest.approx(0.020)
    assert found["step"] == pytest.approx(0.010)


def test_text_is_cut_by_characters(text):
    found = read_text(text, 50)
    assert len(found) == 50 and found.startswith("il fornaio vende il pane al gatto 0\nil")
    with pytest.raises(RevocabError, match="5000 wanted; lower evaluation"):
        read_text(text, 5000)


def test_a_real_model(text, tmp_path):
    folder = write_model(tmp_path / "model", context_length=256)
    found = measure(folder, text, "c", "it", SMALL)
    assert found["characters"] == 240 and found["engine"] == "transformers"
    assert found["characters_per_token"] == pytest.approx(240 / found["tokens"])
    assert found["tokens_per_word"] > 1
    for name in ("prompt_characters_per_second", "generated_characters_per_second"):
        assert found[name] > 0
    assert found["first_token_seconds"] > 0 and found["peak_memory_bytes"] > 1e7
    assert found["parameter_bytes"] > 1000
    json.dumps(found)


def test_cache_bytes_by_hand(tmp_path):
    folder = write_model(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    heads = config["num_key_value_heads"]
    width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    expected = 2 * config["num_hidden_layers"] * heads * width * 4
    assert efficiency.cache_bytes_per_token(folder, "float32") == expected
    assert efficiency.cache_bytes_per_token(folder, "bfloat16") == expected // 2


def test_a_prompt_longer_than_the_context_is_refused(text, tmp_path):
    folder = write_model(tmp_path / "short", context_length=16)
    with pytest.raises(RevocabError, match="its context has 16; lower"):
        measure(folder, text, "c", "it", SMALL)


def test_script(text, tmp_path, repository, monkeypatch):
    folder = write_model(tmp_path / "model", context_length=256)
    arguments = {
        "run": "r", "step": 5, "model": folder, "text": text, "corpus": "c", "language": "it",
        "engine": "transformers", "prompts": 2, "prompt-characters": 40, "new-tokens": 3,
        "repeats": 1, "out": tmp_path / "r.json",
    }  # fmt: skip
    line = [part for name, value in arguments.items() for part in (f"--{name}", str(value))]
    monkeypatch.setattr(sys, "argv", ["measure_efficiency.py", *line])
    runpy.run_path(str(repository / "scripts" / "measure_efficiency.py"), run_name="__main__")
    found = json.loads((tmp_path / "r.json").read_text())
    assert (found["run"], found["step"], found["prompts"]) == ("r", 5, 2)
