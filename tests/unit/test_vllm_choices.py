"""Multiple choice on vLLM: the scores and log-likelihoods of transformers, and long prompts."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest
from evaluation_toys import IT_ROWS, write_model, write_task
from loglikelihoods import likelihoods
from padded_models import pad

from revocab.__main__ import main
from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.scoring import Scorer
from revocab.evaluation.options import Scoring
from revocab.io import read_json, read_jsonl


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
    monkeypatch.setattr("revocab.evaluation.inference.engines.vllm.harness_class", lambda: Model)
    folder = write_model(tmp_path / "narrow", head_width=8)
    with pytest.raises(RevocabError, match=r"narrow: the model could not .* heads 8 wide"):
        load(folder)


class Model:
    """What of the harness's class is read before it is made."""

    _DEFAULT_MAX_LENGTH = 2048


def load(folder):
    """Load a checkpoint on vLLM."""
    return Scorer([], Scoring(device="cpu", engine="vllm")).load(Path(folder))
