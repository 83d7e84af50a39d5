"""Jobs and inputs that are too long for a command line: files, written and followed as inputs."""

from __future__ import annotations

import csv
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from planning import Checkout, changed
from run_snakemake import succeed

from revocab.config import validate
from revocab.io import read_json, write_jsonl
from revocab.plan import Plan
from revocab.plan.show import show_job
from revocab.plan.step import LONGEST_ARGUMENT

#: Linux takes no longer argument.
MOST = 131_071
#: What a shell or Snakemake could stumble over.
AWKWARD = "'\"$HOME `ls` {threads} %s \\n é\U0001f600 "
COUNTED, CORPUS = "results/small/parameters.csv", "resources/small/corpora/many/manifest.json"
TARGETS = (COUNTED, CORPUS)
FILES = 900
ARCHITECTURE = {
    "family": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "layers": 32, "heads": 32,
    "kv_heads": 8,
}  # fmt: skip


@pytest.fixture
def place(repository, tmp_path, monkeypatch) -> Path:
    """A checkout, linked, in which nothing has been made yet."""
    for name in ("scripts", "src"):
        (tmp_path / name).symlink_to(repository / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def values(repository, place) -> dict:
    """The small experiment, with labels of 240 kB and a corpus of 900 files with long names."""
    values = yaml.safe_load((repository / "tests/experiments/small.yaml").read_text())
    shape = {"vocabulary_size": 32_000, "architecture": ARCHITECTURE}
    labels = [str(number) + AWKWARD * (80_000 // len(AWKWARD)) for number in range(3)]
    values["parameters"] = [{**shape, "label": label} for label in labels]
    for number in range(FILES):
        name = f"text/{'a-long-name-' * 18}{number:04}.jsonl"
        write_jsonl(place / name, [{"text": f"Questo è il documento {number}."}])
    values["corpora"]["many"] = {"language": "it", "source": {"pattern": "text/*.jsonl"}}
    return values


def make(repository: Path, values: dict) -> str:
    """Make both things of an experiment; return what Snakemake says."""
    file = Path("experiment.yaml").absolute()
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    call = ("--cores", "1", "--directory", Path.cwd(), "--configfile", file)
    return succeed(repository, *call, "--", *TARGETS)


def test_a_long_job_is_a_file_and_runs_again_when_it_changes(repository, place, values):
    plan = Plan(validate(values))
    counting, preparing = plan.step("count_parameters"), plan.step("prepare_corpus", corpus="many")
    assert len(counting.job.canonical()) > 200_000 and len(preparing.texts()["inputs"]) > 200_000
    before = {*place.rglob("*")}
    made = Checkout(repository, place, values)
    rules = made.plan(targets=TARGETS).rules()
    assert rules == {"count_parameters", "prepare_corpus", "write_argument"}
    assert {one for one in place.rglob("*") if ".snakemake" not in one.parts} == before
    make(repository, values)
    with Path(COUNTED).open(newline="", encoding="utf-8") as file:
        labels = [row["label"] for row in csv.DictReader(file)]
    assert labels == [one["label"] for one in values["parameters"]]
    manifest = read_json(Path(CORPUS))
    assert sum(manifest[part]["documents"] for part in ("train", "heldout")) == FILES
    assert made.plan(targets=TARGETS).needed == set()
    # One number of one of them, and another file: each runs what it feeds.
    change = {"parameters.1.vocabulary_size": 31_000}
    said = make(repository, changed(values, change))
    assert "count_parameters" in said and "prepare_corpus" not in said
    with Path(COUNTED).open(newline="", encoding="utf-8") as file:
        assert [row["vocabulary_size"] for row in csv.DictReader(file)][1] == "31000"
    write_jsonl(place / "text/one-more.jsonl", [{"text": "Un altro."}])
    rules = made.plan(change, targets=TARGETS).rules()
    assert rules == {"prepare_corpus", "write_argument"}


def test_a_printed_long_job_can_be_pasted(repository, place, values):
    Path("experiment.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    shown = show_job(["count_parameters", "--configfile", "experiment.yaml"])
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e"], input=shown, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(Path(COUNTED).read_bytes()) > 240_000


def test_no_argument_is_longer_than_a_command_line_takes(place, values):
    """At the border, counted in bytes."""
    (shape, *_) = values["parameters"]

    def step(label: str):
        return Plan(
            validate({**values, "parameters": [{**shape, "label": label}]})
        ).step("count_parameters")  # fmt: skip

    room = LONGEST_ARGUMENT - len(step("è").job.canonical().encode())
    fits, more = step("è" + "x" * room), step("èx" + "x" * room)
    assert fits.long() == {} and fits.arguments()[3] == fits.job.canonical()
    (path,) = more.long()
    assert more.arguments()[3] == path == more.files()["arguments"][0]
    assert max(len(word.encode()) for word in shlex.split(shlex.join(fits.arguments()))) < MOST
