"""The package as installed somewhere else, without the checkout: what `pip install` gives."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from revocab.io import read_json, write_jsonl

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = ("config/accelerate", "envs", "profiles", "workflow")
#: What a run reads of a checkout.
WORKFLOW = (
    "Snakefile",
    "scripts/run_job.py",
    *(
        str(file.relative_to(REPOSITORY))
        for folder in FOLDERS
        for file in (REPOSITORY / folder).rglob("*.*")
        if file.is_file()
    ),
)
EXPERIMENT = """
experiment: mine
title: Text of mine
seed: 1
corpora:
  text: {language: it, source: {path: text.jsonl}, heldout_bytes: 200}
tokenizers:
  small: {train: {corpora: {text: 1.0}, alphabet: byte_fallback, vocabulary_size: 300}}
models: {}
recipes: {}
runs: {}
fertility: {tokenizers: [small], corpora: [text]}
tables: {fertility: {kind: fertility, title: Tokens per word}}
"""


def build(folder: Path) -> Path:
    """Build the wheel from a copy, so that nothing is left in the checkout; return its contents."""
    copy, wheels, contents = folder / "copy", folder / "wheels", folder / "contents"
    shutil.copytree(
        REPOSITORY / "src" / "revocab",
        copy / "src" / "revocab",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", *WORKFLOW):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, copy / name)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(wheels), "."]
    subprocess.run(command, cwd=copy, check=True)
    with zipfile.ZipFile(next(wheels.glob("revocab-*.whl"))) as wheel:
        wheel.extractall(contents)
    return contents


@pytest.fixture(scope="module")
def contents(tmp_path_factory) -> Path:
    """The files of the wheel."""
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def run(contents, tmp_path) -> Callable[..., str]:
    """Run Python with the wheel, in a folder that has nothing of the checkout."""

    def call(*arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(contents)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, done.stderr
        return done.stdout

    return call


#: Several verbs in one process: each start of Python with its libraries takes seconds.
VERBS = """
import sys

import revocab
from revocab.__main__ import main

assert revocab.__file__.startswith(sys.argv[1])
for line in sys.argv[2].splitlines():
    main(line.split())
"""


def test_the_wheel_has_every_file_of_the_package(contents):
    kept = {file.relative_to(contents / "revocab") for file in (contents / "revocab").rglob("*.*")}
    for file in (REPOSITORY / "src" / "revocab").rglob("*.*"):
        if file.suffix in {".py", ".yaml", ".j2", ".typed"}:
            assert file.relative_to(REPOSITORY / "src" / "revocab") in kept


def test_the_wheel_has_every_file_of_the_workflow(contents):
    folder = contents / "revocab" / "dag"
    shipped = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert shipped == {*WORKFLOW}


def test_an_experiment_runs_in_an_empty_folder_by_the_wheel_alone(contents, run, tmp_path):
    texts = [f"il gatto {n} è a casa, il cane legge {n * n} libri in giardino" for n in range(90)]
    write_jsonl(tmp_path / "text.jsonl", [{"text": text} for text in texts])
    (tmp_path / "mine.yaml").write_text(EXPERIMENT)
    run("-m", "revocab", "run", "mine.yaml", "--cores", "1")
    report = (tmp_path / "results/mine/report.html").read_text(encoding="utf-8")
    assert "Tokens per word" in report
    assert {file.name for file in tmp_path.iterdir()} == {
        ".snakemake", "mine.yaml", "resources", "results", "text.jsonl"
    }  # fmt: skip
    assert str(contents / "revocab/dag/scripts/run_job.py") in run(
        "-m", "revocab", "run", "mine.yaml", "-n", "-p", "--forceall"
    )


def test_a_model_is_adapted_and_scored_by_the_wheel_alone(contents, run, toys, tmp_path):
    """On a task of a shipped template."""
    item = {"id": "1", "question": "dove?", "choices": ["il gatto", "la casa"], "answer": 0}
    write_jsonl(tmp_path / "rows.jsonl", [item] * 4)
    verbs = (
        f"init --source {toys / 'untied'} --target-tokenizer {toys / 'target-tokenizer'}"
        " --method fvt --out adapted --quiet",
        "task --task arc --template question_it --data rows.jsonl --out arc.yaml",
        "score --models 0=adapted --tasks arc.yaml --run mine --device cpu --out scores.csv",
    )
    run("-c", VERBS, contents, "\n".join(verbs))
    assert (tmp_path / "adapted/model.safetensors").is_file()
    assert (tmp_path / "adapted/diagnostics.png").is_file()
    assert "Domanda: {{question}}" in (tmp_path / "arc.yaml").read_text(encoding="utf-8")
    with (tmp_path / "scores.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["task"], row["metric"], row["items"]) for row in rows} == {
        ("arc", "acc", "4"),
        ("arc", "acc_norm", "4"),
    }


def test_a_model_is_trained_by_a_named_recipe_by_the_wheel_alone(contents, run, toys, tmp_path):
    texts = [f"il gatto e il cane sono a casa {number}" for number in range(60)]
    write_jsonl(tmp_path / "rows.jsonl", [{"text": text} for text in texts])
    verbs = (
        "prepare --corpus c --language it --files rows.jsonl --heldout-bytes 200 --out corpus",
        f"pack --tokenizer {toys / 'source-tokenizer'} --corpora c=corpus --shares c=1 --seed 1"
        " --recipe lep --rows 8 --sequence-length 16 --repeat-corpora --out packed",
        f"pack_heldout --tokenizer {toys / 'source-tokenizer'} --corpora c=corpus"
        " --sequence-length 16 --out heldout",
        f"train --model {toys / 'untied'} --packed packed --heldout heldout --seed 1"
        " --recipe lep --steps 4 --batch-size 2 --checkpoint-every 4 --precision float32"
        " --out trained",
    )
    for number, line in enumerate(verbs):  # each needs the libraries that another does without
        run("-c", VERBS, contents, line)
        assert len(list(tmp_path.iterdir())) == number + 2
    trained = tmp_path / "trained/checkpoints/step-000004"
    assert (trained / "model.safetensors").is_file()
    job = read_json(tmp_path / "trained/.revocab.json")["job"]
    assert (job["steps"], job["weight_decay"]) == (4, 0.1)
    assert [(stage["name"], stage["steps"]) for stage in job["stages"]] == [("embeddings", 4)]
