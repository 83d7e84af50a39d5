"""COMET on tiny random checkpoints, with the real unbabel-comet in its own environment."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path
from typing import ClassVar

import pytest
from comet_checkpoint import SAMPLES

from revocab.evaluation.generation import comet
from revocab.evaluation.generation.comet import Comet, score_run
from revocab.evaluation.generation.prompts import prompt_row
from revocab.evaluation.options import CometHardware
from revocab.io import read_jsonl, write_jsonl


def write_outputs(folder: Path) -> tuple[Path, Path]:
    """Write prompts and, for two steps, their outputs; return both."""
    rows, made = [], []
    for number, one in enumerate(SAMPLES):
        query = {"id": str(number), "en": one["src"], "it": one["ref"]}
        rows.append(prompt_row("translation", ["en", "it"], query, []))
        made.append({"id": str(number), "output": one["mt"], "references": [one["ref"]]})
    write_jsonl(folder / "flores_en_it.jsonl", rows)
    for step in (0, 5):
        write_jsonl(folder / "generation" / f"step-{step:06d}" / "flores_en_it.jsonl", made)
    return folder / "flores_en_it.jsonl", folder / "generation"


@pytest.fixture(scope="module")
def comet_python(repository):
    """The interpreter of the COMET environment."""
    path = Path(os.environ.get("REVOCAB_COMET_PYTHON", repository / ".venv-comet/bin/python"))
    if not path.exists():
        pytest.skip(f"no COMET environment at {path}: run 'make comet' (1.4 GB)")
    return path


def test_real_comet_on_random_checkpoints(comet_python, repository, tmp_path):
    """Both metrics, from a file and from a folder; what comes out is what the models say."""
    environment = {**os.environ, "PYTHONPATH": str(repository / "src"), "HF_HUB_OFFLINE": "1"}
    made = subprocess.run(
        [comet_python, repository / "tests/support/comet_checkpoint.py", tmp_path / "models"],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr[-2000:]
    expected = json.loads((tmp_path / "models" / "expected.json").read_text())
    assert len(set(expected["comet22"])) == len(set(expected["xcomet"])) == 2
    prompts, generation = write_outputs(tmp_path)
    out = generation / "comet.csv"
    models = ["--models", f"comet22={tmp_path}/models/comet22/checkpoints/model.ckpt"]
    models += [f"xcomet={tmp_path}/models/xcomet"]
    arguments = ["--run", "r", "--generation", generation, "--prompts", f"flores_en_it={prompts}"]
    done = subprocess.run(
        [comet_python, "-m", "revocab", "score_comet", *arguments, *models, "--out", out],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    with out.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["step"], row["metric"]) for row in rows] == [
        ("0", "comet22"), ("0", "xcomet"), ("5", "comet22"), ("5", "xcomet"),
    ]  # fmt: skip
    for row in rows:
        assert float(row["value"]) == pytest.approx(50 * sum(expected[row["metric"]]), rel=1e-5)
        assert row["items"] == "2" and str(tmp_path) not in row["model"]
    items = list(read_jsonl(generation / "comet_items.jsonl.gz"))
    assert items[0]["values"] == pytest.approx([100 * one for one in expected["comet22"]], rel=1e-5)


class Counting(Comet):
    """A model that counts its calls and fails at the third."""

    calls: ClassVar[list[int]] = []
    fail_at = 3

    def revision(self):
        return "0" * 40

    def score(self, samples):
        if len(self.calls) + 1 == self.fail_at:
            raise KeyboardInterrupt
        self.calls.append(len(samples))
        return [0.5, 0.7]


def test_a_killed_run_continues(tmp_path, monkeypatch):
    prompts, generation = write_outputs(tmp_path)
    last = generation / "step-000005" / "flores_en_it.jsonl"
    write_jsonl(last, [{**row, "output": row["output"] + "!"} for row in read_jsonl(last)])
    monkeypatch.setattr(comet, "comet_version", lambda: "2.2.7")
    monkeypatch.setattr(comet, "Comet", Counting)
    monkeypatch.setattr(Counting, "calls", [])
    out = generation / "comet.csv"
    arguments = ("r", generation, {"flores_en_it": prompts}, {"comet22": "a", "xcomet": "b"})
    with pytest.raises(KeyboardInterrupt):
        score_run(*arguments, out)
    assert not out.exists() and len(Counting.calls) == 2
    monkeypatch.setattr(Counting, "fail_at", 0)
    score_run(*arguments, out)
    assert len(Counting.calls) == 4
    assert {path.name for path in generation.iterdir() if path.is_file()} == {
        "comet.csv",
        "comet_items.jsonl.gz",
    }


@pytest.mark.parametrize(
    ("device", "gpus"),
    [("cpu", {"gpus": 0}), ("cuda", {"gpus": 1}), ("cuda:2", {"gpus": 1, "devices": [2]})],
)
def test_comet_runs_where_the_profile_says(monkeypatch, device, gpus):
    monkeypatch.setattr(comet, "choose_device", str)  # no such GPU here
    seen = {}

    class Model:
        def predict(self, samples, **options):
            seen.update(options)
            return type("Prediction", (), {"scores": [0.5]})()

    model = Comet("x.ckpt", CometHardware(device=device, batch_size=4), _model=Model())
    assert model.score([{"src": "a", "mt": "b", "ref": "c"}]) == [0.5]
    assert seen.items() >= {"batch_size": 4, **gpus}.items()
    assert ("devices" in seen) == ("devices" in gpus)
