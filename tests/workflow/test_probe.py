"""`revocab probe` of a toy model: killed and continued; what `advise` and `adapt` take of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from toy_models import SOURCE_WORDS, build_model, build_tokenizer
from waiting import steps_made, wait_until

from revocab.config import read
from revocab.demoworld.build import documents
from revocab.demoworld.stories import build

pytestmark = pytest.mark.long

LINE = (
    "probe my-model --text it=italian.txt --keep en=english.txt --methods fvt random"
    " --ways together --seeds 1 --tokens 2560 --cores 2"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A toy model, and texts of a made-up world with a document per line."""
    folder = tmp_path_factory.mktemp("probe")
    build_model(build_tokenizer(SOURCE_WORDS, 30, folder / "tokenizer"), folder / "my-model")
    world = build(17)
    for language, name, number in (("it", "italian", 160), ("en", "english", 60)):
        rows = documents(world, language, number, 17)
        lines = "\n".join(row["text"].replace("\n", " ") for row in rows)
        (folder / f"{name}.txt").write_text(lines, encoding="utf-8")
    return folder


def revocab(folder: Path, line: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "revocab", *line.split()],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def test_a_killed_probe_goes_on_and_its_record_is_of_use(folder):
    said = revocab(folder, f"{LINE} --dry-run")
    assert said.count("probed-") == 3 and "nothing was written" in said
    assert not (folder / "probed").exists()
    run = folder / "probed/results/probe/runs/probed-unchanged-seed1"
    with (folder / "killed.log").open("w") as log:
        first = subprocess.Popen(
            [sys.executable, "-m", "revocab", *LINE.split()],
            cwd=folder, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        wait_until(lambda: steps_made(run) >= 8, first)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    said = revocab(folder, LINE)
    record = json.loads((folder / "probed/probe.json").read_text())
    judgement = record["judgement"]
    assert {entry["name"] for entry in judgement["ranked"]} == {"fvt", "random"}
    # A single seed has no interval, and says nothing of chance.
    assert judgement["verdict"] == "unclear" and judgement["recommended"] == "fvt"
    gain = judgement["ranked"][0]["minus_unchanged"]
    assert gain["low"] is gain["high"] is gain["side"] is None and gain["value"] != 0
    page = (folder / "probed/probe.md").read_text(encoding="utf-8")
    table = (folder / "probed/results/probe/tables/ranking-it.md").read_text("utf-8").strip()
    assert table in said and table in page and "with 1 of at least 3 seeds nothing is" in said
    # The same as in the table, to its digits.
    fvt = next(entry for entry in judgement["ranked"] if entry["name"] == "fvt")
    assert f"{fvt['loss']:.3f}" in next(line for line in table.splitlines() if "FVT" in line)
    # Once more there is nothing to do, and what was recommended stays.
    again = revocab(folder, LINE)
    assert "kept     probed/recommended/adapt.yaml" in again
    assert json.loads((folder / "probed/probe.json").read_text()) == record
    recommended = folder / "probed/recommended/adapt.yaml"
    experiment = read(recommended)
    assert experiment.tokenizers["target"].extend.size == record["vocabulary"]
    adapt = next(line for line in said.splitlines() if line.startswith("adapt  "))
    assert recommended.read_text().partition("\n")[0] == f"# {adapt.split(None, 1)[1]}"
    advised = revocab(folder, "advise my-model it=italian.txt --probe probed")
    assert "method fvt, together. A probe (seeds: 1) says: unclear" in " ".join(advised.split())
