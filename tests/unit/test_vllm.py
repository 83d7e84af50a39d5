"""vLLM: which environment runs it, what it is started with, and the same text as transformers."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import pytest
from evaluation_toys import write_model
from padded_models import pad
from transformers import LlamaConfig

from revocab.__main__ import main
from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import generate_checkpoints
from revocab.evaluation.generation.prompts import prompt_row
from revocab.evaluation.inference import vllm_settings as vllm_start
from revocab.evaluation.options import Generating
from revocab.io import read_json, read_jsonl, write_json, write_jsonl
from revocab.models.parameters import Architecture, build_stand_in


def test_a_cpu_holds_the_cache_of_its_sequences_and_no_more(monkeypatch):
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "1")
    config = LlamaConfig(
        hidden_size=256, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=2
    )
    on_gpu = vllm_start.start_settings(config, "cuda", "float32", 200)
    assert "kv_cache_memory_bytes" not in on_gpu and "enforce_eager" not in on_gpu
    assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "1"
    monkeypatch.delenv("VLLM_ENABLE_V1_MULTIPROCESSING")
    per_token = 2 * 3 * 2 * 32 * 4  # keys and values, layers, heads, width, float32
    one = vllm_start.start_settings(config, "cpu", "float32", 200)
    own = vllm_start.BLOCK  # what vLLM keeps for itself: without it a request of 256 would wait
    assert one["kv_cache_memory_bytes"] == per_token * (256 * vllm_start.CPU_SEQUENCES + own)
    assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"
    for device in ("cpu", "cuda"):
        measured = vllm_start.start_settings(config, device, "bfloat16", 200, sequences=5)
        assert measured["kv_cache_memory_bytes"] == per_token // 2 * (256 * 5 + own)
    narrow = LlamaConfig(hidden_size=64, num_attention_heads=4, num_key_value_heads=4)
    with pytest.raises(ValueError, match="heads 16 wide"):
        vllm_start.start_settings(narrow, "cpu", "float32", 200)


def test_long_contexts_hold_fewer_sequences():
    assert vllm_start.cache_tokens(2048) == 32 * 2048 + vllm_start.BLOCK
    assert vllm_start.cache_tokens(8192) == 32 * 2048 + vllm_start.BLOCK
    assert vllm_start.cache_tokens(131072) == 131072 + vllm_start.BLOCK


def test_few_prompts_hold_little(monkeypatch):
    """What six prompts of 60 tokens and their answers need, not 32 contexts of 2,048."""
    assert vllm_start.cache_tokens(128, requests=6) == 6 * 128 + vllm_start.BLOCK
    assert vllm_start.cache_tokens(8192, requests=1) == 8192 + vllm_start.BLOCK
    assert vllm_start.cache_tokens(2048, requests=1000) == 32 * 2048 + vllm_start.BLOCK


def test_what_a_user_gives_for_keys_and_values_is_said_and_holds(monkeypatch, capsys):
    def settings(space: str, length: int = 200, device: str = "cpu") -> dict:
        monkeypatch.setenv(vllm_start.CACHE_SPACE, space)
        return vllm_start.start_settings(WIDE, device, "float32", length, requests=2)

    assert "kv_cache_memory_bytes" not in settings("2")  # vLLM takes what the variable says
    assert "VLLM_CPU_KVCACHE_SPACE: vLLM holds 2 GiB" in capsys.readouterr().err
    assert "kv_cache_memory_bytes" in settings("") and not capsys.readouterr().err
    assert settings("2", device="cuda") and not capsys.readouterr().err
    for space, length in (("1", 10**7), ("0", 200), ("2.5", 200), ("much", 200)):
        with pytest.raises(ValueError, match="VLLM_CPU_KVCACHE_SPACE: "):
            settings(space, length)


WIDE = LlamaConfig(
    hidden_size=256, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=2
)


def test_a_model_is_divided_among_gpus():
    one, two = (
        vllm_start.start_settings(WIDE, "cuda", "bfloat16", 200, gpus=gpus) for gpus in (1, 2)
    )
    assert two.pop("tensor_parallel_size") == 2 and two.pop("distributed_executor_backend") == "mp"
    assert one == two
    for device, gpus in (("cpu", 2), ("cuda", 3)):
        with pytest.raises(ValueError, match=f"--gpus {gpus}: "):
            vllm_start.start_settings(WIDE, device, "bfloat16", 200, gpus=gpus)


def test_nothing_is_started_for_prompts_that_do_not_fit_or_are_done(tmp_path, monkeypatch):
    """Of two tasks the second does not fit: vLLM, which is not here, is not even asked for."""
    model = tmp_path / "model"
    shape = {"hidden_size": 64, "intermediate_size": 96, "layers": 2, "heads": 2, "kv_heads": 1}
    tokenizer = write_model(tmp_path / "words", seed=3, context_length=256)
    build_stand_in(tokenizer, Architecture(family="mistral", **shape), 256, 3, model)
    fits = {"fits": prompts(tmp_path / "fits.jsonl", 3)}
    rows = [{**row, "max_new_tokens": 120} for row in read_jsonl(fits["fits"])]
    write_jsonl(tmp_path / "long.jsonl", rows)
    monkeypatch.setitem(sys.modules, "vllm", types.ModuleType("vllm"))  # without LLM
    options = Generating(engine="vllm", max_new_tokens=8, context_length=128, device="cpu")
    with pytest.raises(RevocabError) as caught:
        both = {**fits, "long": tmp_path / "long.jsonl"}
        generate_checkpoints("r", {0: model}, both, tmp_path / "o", options)
    assert len(caught.value.problems) == 1 and "long, " in caught.value.problems[0]


def prompts(path: Path, count: int) -> Path:
    """Write prompts of many lengths, with none to three shots."""
    pool = [{"id": f"p{i}", "en": f"the cat sat {i}", "it": f"il gatto {i}"} for i in range(3)]
    queries = [{"id": f"t{i}", "en": "bread " * (1 + i % 9), "it": "pane"} for i in range(count)]
    write_jsonl(
        path,
        (
            prompt_row("translation", ["en", "it"], query, pool[: i % 4])
            for i, query in enumerate(queries)
        ),
    )
    return path


def test_vllm_writes_what_transformers_writes(vllm_interpreter, call, tmp_path, monkeypatch):
    model = tmp_path / "model"  # heads of 32: vLLM's CPU attention knows no smaller ones
    shape = {"hidden_size": 64, "intermediate_size": 96, "layers": 2, "heads": 2, "kv_heads": 1}
    tokenizer = write_model(tmp_path / "words", seed=3, context_length=256)
    build_stand_in(tokenizer, Architecture(family="mistral", **shape), 256, 3, model)
    settings = read_json(model / "generation_config.json")
    settings["eos_token_id"] = [settings["eos_token_id"], *range(40, 80)]  # some texts end early
    write_json(model / "generation_config.json", settings)
    tokens = read_json(model / "config.json")["vocab_size"]
    padded = pad(model, tmp_path / "padded", tokens + 9)  # vLLM must not write it
    rows = prompts(tmp_path / "prompts.jsonl", 24)

    def words(engine, read):
        return [
            "generate", "--run", "r", "--models", f"0={read}", "--prompts", f"t={rows}",
            "--engine", engine, "--max-new-tokens", "8", "--context-length", "128",
            "--device", "cpu", "--out", str(tmp_path / engine),
        ]  # fmt: skip

    # By this Python, which hands it over.
    monkeypatch.setenv("REVOCAB_VLLM_PYTHON", vllm_interpreter)
    done = call(sys.executable, "-m", "revocab", *words("vllm", padded))
    assert done.returncode == 0, done.stderr[-3000:]
    main(words("transformers", model))
    made, expected = (
        list(read_jsonl(tmp_path / engine / "step-000000/t.jsonl"))
        for engine in ("vllm", "transformers")
    )
    assert len(made) == 24
    for field in ("prompt", "output", "output_tokens", "finish_reason"):
        assert [row[field] for row in made] == [row[field] for row in expected], field
    assert sum(bool(row["output"]) for row in made) >= 12, "empty outputs prove little"
    assert {row["finish_reason"] for row in made} == {"eos", "length"}
    manifest = read_json(tmp_path / "vllm/manifest.json")
    assert manifest["options"]["engine"] == "vllm" and manifest["versions"]["vllm"]
