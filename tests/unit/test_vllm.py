"""vLLM: which environment runs it, what it is started with, and the same text as transformers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from evaluation_toys import write_model
from transformers import LlamaConfig

from revocab.config.schema import Architecture
from revocab.errors import RevocabError
from revocab.evaluation import vllm_engine
from revocab.evaluation.compare import compare_outputs
from revocab.evaluation.prompts import prompt_row
from revocab.io import read_json, read_jsonl, write_json, write_jsonl
from revocab.models.stand_in import build_stand_in


def test_the_environment_is_named_made_or_missed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(vllm_engine.VARIABLE, raising=False)
    monkeypatch.setattr(vllm_engine, "find_spec", lambda name: None)
    with pytest.raises(RevocabError, match="run 'make vllm'"):
        vllm_engine.vllm_python()
    monkeypatch.setattr(vllm_engine, "find_spec", lambda name: object())
    assert vllm_engine.vllm_python() == sys.executable
    vllm_engine.ENVIRONMENT.parent.mkdir(parents=True)
    vllm_engine.ENVIRONMENT.touch()
    assert vllm_engine.vllm_python() == str(vllm_engine.ENVIRONMENT)
    monkeypatch.setenv(vllm_engine.VARIABLE, sys.executable)
    assert vllm_engine.vllm_python() == sys.executable
    monkeypatch.setenv(vllm_engine.VARIABLE, "nowhere/python")
    with pytest.raises(RevocabError, match="REVOCAB_VLLM_PYTHON: 'nowhere/python'"):
        vllm_engine.vllm_python()


def test_a_cpu_holds_the_cache_of_its_sequences_and_no_more(monkeypatch):
    monkeypatch.delenv("VLLM_ENABLE_V1_MULTIPROCESSING", raising=False)
    config = LlamaConfig(
        hidden_size=256, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=2
    )
    # keys and values, layers, heads, width, float32, tokens in whole blocks, sequences
    assert vllm_engine.cache_bytes(config, 200, sequences=5) == 2 * 3 * 2 * 32 * 4 * 256 * 5
    assert vllm_engine.start_settings(config, "cuda", 200) == {}
    assert "VLLM_ENABLE_V1_MULTIPROCESSING" not in os.environ
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    settings = vllm_engine.start_settings(config, "cpu", 200)
    assert settings["kv_cache_memory_bytes"] == vllm_engine.cache_bytes(config, 200)
    narrow = LlamaConfig(hidden_size=64, num_attention_heads=4, num_key_value_heads=4)
    with pytest.raises(ValueError, match="heads 16 wide"):
        vllm_engine.start_settings(narrow, "cpu", 200)


def test_outputs_are_compared_row_by_row(tmp_path):
    row = {"id": "1", "prompt": "p", "output": "same", "output_tokens": 2, "finish_reason": "eos"}
    other = {**row, "id": "2", "output": "that one"}
    for folder, text in (("a", "that one"), ("b", "that two")):
        write_jsonl(tmp_path / folder / "step-000001/t.jsonl", [row, {**other, "output": text}])
    found = compare_outputs(tmp_path / "a", tmp_path / "b")
    assert (found.rows, found.equal, found.share) == (2, 1, 0.5)
    assert found.differences[0]["id"] == "2" and found.differences[0]["from_character"] == 5
    write_jsonl(tmp_path / "b/step-000001/t.jsonl", [row, {**other, "prompt": "q"}])
    with pytest.raises(RevocabError, match="row 2: the prompts differ"):
        compare_outputs(tmp_path / "a", tmp_path / "b")
    write_jsonl(tmp_path / "b/step-000001/t.jsonl", [row])
    with pytest.raises(RevocabError, match="2 rows and 1"):
        compare_outputs(tmp_path / "a", tmp_path / "b")


@pytest.fixture(scope="module")
def vllm_interpreter(repository) -> str:
    """The interpreter that has vLLM; skips where there is none."""
    named = os.environ.get(vllm_engine.VARIABLE) or str(repository / vllm_engine.ENVIRONMENT)
    if not Path(named).is_file():
        pytest.skip(f"no environment with vLLM: 'make vllm' or set {vllm_engine.VARIABLE}")
    return named


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


def test_vllm_writes_what_transformers_writes(vllm_interpreter, repository, tmp_path):
    model = tmp_path / "model"  # heads of 32: vLLM's CPU attention knows no smaller ones
    shape = {"hidden_size": 64, "intermediate_size": 96, "layers": 2, "heads": 2, "kv_heads": 1}
    tokenizer = write_model(tmp_path / "words", seed=3, context_length=256)
    build_stand_in(tokenizer, Architecture(family="mistral", **shape), 256, 3, model)
    settings = read_json(model / "generation_config.json")
    settings["eos_token_id"] = [settings["eos_token_id"], *range(40, 80)]  # some texts end early
    write_json(model / "generation_config.json", settings)
    rows = prompts(tmp_path / "prompts.jsonl", 24)
    environment = {**os.environ, "PYTHONPATH": str(repository / "src"), "OMP_NUM_THREADS": "1"}
    for engine, python in (("vllm", vllm_interpreter), ("transformers", sys.executable)):
        done = subprocess.run(
            [
                *(python, "scripts/generate_text.py", "--run", "r", "--model", f"0={model}"),
                *("--prompts", f"t={rows}", "--engine", engine, "--max-new-tokens", "8"),
                *("--context-length", "128", "--device", "cpu", "--out", tmp_path / engine),
            ],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
    found = compare_outputs(tmp_path / "vllm", tmp_path / "transformers")
    assert found.rows == 24
    assert found.share >= 0.99, json.dumps(found.differences, indent=1)
    made = list(read_jsonl(tmp_path / "vllm/step-000000/t.jsonl"))
    assert sum(bool(row["output"]) for row in made) >= 12, "empty outputs prove little"
    assert {row["finish_reason"] for row in made} == {"eos", "length"}
    manifest = read_json(tmp_path / "vllm/manifest.json")
    assert manifest["options"]["engine"] == "vllm" and manifest["versions"]["vllm"]
