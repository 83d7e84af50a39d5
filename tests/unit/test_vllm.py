"""vLLM: what it is started with, and the texts and scores of transformers."""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path

import pytest
from evaluation_toys import IT_ROWS, write_model, write_task
from loglikelihoods import likelihoods
from padded_models import pad
from transformers import LlamaConfig

from revocab.__main__ import main
from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import generate_checkpoints
from revocab.evaluation.generation.prompts import prompt_row
from revocab.evaluation.inference.engines import vllm as vllm_start
from revocab.evaluation.multiple_choice.scoring import Scorer
from revocab.evaluation.options import Generating, Scoring
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
    # Two GPUs hold half of a token's keys and values each.
    half = vllm_start.start_settings(config, "cuda", "float32", 200, sequences=5, gpus=2)
    assert half["kv_cache_memory_bytes"] == per_token // 2 * (256 * 5 + own)
    narrow = LlamaConfig(hidden_size=64, num_attention_heads=4, num_key_value_heads=4)
    with pytest.raises(ValueError, match="heads 16 wide"):
        vllm_start.start_settings(narrow, "cpu", "float32", 200)


@pytest.mark.parametrize(
    ("context", "requests", "tokens"),
    [
        (2048, None, 32 * 2048),
        (8192, None, 32 * 2048),
        (131072, None, 131072),
        (128, 6, 6 * 128),  # six prompts of 60 tokens and their answers
        (8192, 1, 8192),
        (2048, 1000, 32 * 2048),
    ],
)
def test_few_prompts_hold_little_and_long_contexts_fewer(context, requests, tokens):
    held = vllm_start.cache_tokens(context, requests=requests)
    assert held == tokens + vllm_start.BLOCK


@pytest.mark.parametrize(("space", "told"), [("2", False), ("", True)])
def test_what_a_user_gives_for_keys_and_values_holds(monkeypatch, space, told):
    """vLLM takes what the variable says."""
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", space)
    settings = vllm_start.start_settings(WIDE, "cpu", "float32", 200, requests=2)
    assert ("kv_cache_memory_bytes" in settings) == told


@pytest.mark.parametrize("space", ["1", ""])
def test_too_little_memory_names_what_a_user_can_change(monkeypatch, space):
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", space)
    with pytest.raises(RevocabError) as caught, vllm_start.enough_memory(Path("model")):
        raise ValueError("2.0 GiB KV cache is needed, larger than the available. Try increasing")
    assert str(caught.value).startswith("model: ") and "--dtype bfloat16" in str(caught.value)
    assert ("VLLM_CPU_KVCACHE_SPACE" in str(caught.value)) == bool(space)
    with pytest.raises(ValueError, match="another"), vllm_start.enough_memory(Path("model")):
        raise ValueError("another")


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


@pytest.fixture
def model(tmp_path):
    """A model with heads of 32: vLLM's CPU attention knows no smaller ones."""
    folder = tmp_path / "model"
    shape = {"hidden_size": 64, "intermediate_size": 96, "layers": 2, "heads": 2, "kv_heads": 1}
    tokenizer = write_model(tmp_path / "words", seed=3, context_length=256)
    build_stand_in(tokenizer, Architecture(family="mistral", **shape), 256, 3, folder)
    return folder


def test_nothing_is_started_for_prompts_that_do_not_fit_or_are_done(model, tmp_path, monkeypatch):
    """Of two tasks the second does not fit: vLLM, which is not here, is not even asked for."""
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


def test_vllm_writes_what_transformers_writes(vllm_interpreter, call, model, tmp_path, monkeypatch):
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


# Multiple choice --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def workplace(tmp_path_factory, repository):
    """Two checkpoints with heads that vLLM's CPU attention has, two tasks, and one too long."""
    folder = tmp_path_factory.mktemp("choices")
    models = [
        f"{step}={write_model(folder / str(step), seed=step, context_length=128, head_width=32)}"
        for step in (0, 5)
    ]
    tasks = [
        write_task(folder, repository, name, IT_ROWS, name) for name in ("arc_easy_it", "boolq_it")
    ]
    long = {**IT_ROWS[0], "context": "Il fornaio vende il pane in città. " * 20}
    return models, tasks, write_task(folder, repository, "long", [long, *IT_ROWS[1:4]], "boolq_it")


def arguments(engine, models, tasks, out):
    """Return the command line of the script."""
    chosen = ["score", "--run", "r", "--engine", engine, "--device", "cpu", "--out", out]
    return [*map(str, chosen), "--models", *models, "--tasks", *map(str, tasks)]


def test_vllm_scores_what_transformers_scores(vllm_interpreter, call, workplace, tmp_path):
    models, tasks, _ = workplace
    done = call(
        vllm_interpreter, "-m", "revocab", *arguments("vllm", models, tasks, tmp_path / "vllm.csv")
    )
    assert done.returncode == 0, done.stderr[-3000:]
    main(arguments("hf", models, tasks, tmp_path / "hf.csv"))
    items = {
        engine: list(read_jsonl(tmp_path / f"{engine}_items.jsonl.gz")) for engine in ("vllm", "hf")
    }
    assert items["vllm"] == items["hf"]
    assert {row["step"] for row in items["vllm"]} == {0, 5}
    values = [value for row in items["vllm"] for value in row["values"]]
    assert 0 < sum(values) < len(values), "equal scores of one kind prove little"
    ours, theirs = ((tmp_path / f"{name}.csv").read_text() for name in ("vllm", "hf"))
    assert ours.count(",vllm\n") == len(items["vllm"])
    assert ours.replace(",vllm\n", ",hf\n") == theirs


def test_log_likelihoods_are_those_of_transformers(vllm_interpreter, call, repository, tmp_path):
    """Rows of padding, whose logits are the largest, take no part; prompts longer than what vLLM
    reads at once have the same log-likelihoods.
    """
    model = write_model(tmp_path / "model", context_length=4096, head_width=32)
    rows = read_json(model / "config.json")["vocab_size"]
    padded = pad(model, tmp_path / "padded", rows + 9)
    long = [{**IT_ROWS[0], "context": "Il fornaio vende il pane in città. " * n} for n in (30, 150)]
    tasks = [
        write_task(tmp_path, repository, name, [*IT_ROWS, *added], name)
        for name, added in (("arc_easy_it", []), ("boolq_it", long))
    ]
    done = call(vllm_interpreter, "tests/support/loglikelihoods.py", "vllm", padded, *tasks)
    assert done.returncode == 0, done.stderr[-3000:]
    ours, theirs = json.loads(done.stdout.splitlines()[-1]), likelihoods("hf", model, *tasks)
    for task in ours:
        assert len(ours[task]) == len(theirs[task]) >= 24
        for (one, greedy), (other, as_greedy) in zip(ours[task], theirs[task], strict=True):
            assert one == pytest.approx(other, abs=1e-3, rel=1e-5)
            assert greedy == as_greedy


def test_a_long_prompt_stops_or_is_cut(vllm_interpreter, call, workplace, tmp_path):
    models, _, long = workplace
    out = tmp_path / "long.csv"
    line = [vllm_interpreter, "-m", "revocab", *arguments("vllm", models[:1], [long], out)]
    done = call(*line)
    assert done.returncode == 1 and not out.exists()
    assert "2 of 11 requests are longer than the 127 tokens" in done.stderr, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    done = call(*line, "--long-prompts", "cut")
    assert done.returncode == 0, done.stderr[-3000:]
    header, first = out.read_text().splitlines()[:2]
    assert dict(zip(header.split(","), first.split(","), strict=True))["cut_prompts"] == "2"


def test_a_head_that_vllm_lacks_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", types.ModuleType("vllm"))
    model = types.SimpleNamespace(_DEFAULT_MAX_LENGTH=2048)  # all that is read of the harness's
    monkeypatch.setattr(vllm_start, "harness_class", lambda: model)
    folder = write_model(tmp_path / "narrow", head_width=8)
    with pytest.raises(RevocabError, match=r"narrow: the model could not .* heads 8 wide"):
        Scorer([], Scoring(device="cpu", engine="vllm")).load(folder)
