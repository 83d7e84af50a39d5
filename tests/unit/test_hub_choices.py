"""Darumeru's choice tasks by name, as plain text and as chat, from repositories as theirs are."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import darumeru
import pytest
from evaluation_toys import write_model

from revocab.training.chat.template import find_template

NAMES = ("darumeru_parus", "darumeru_rcb", "darumeru_rucola")
STORED = ("RefalMachine--darumeru", "RussianNLP--rucola")


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root, data = tmp_path_factory.mktemp("hub"), tmp_path_factory.mktemp("data")
    darumeru.write_data(data, 4)
    for name, place in (("darumeru", "RefalMachine/darumeru"), ("rucola", "RussianNLP/rucola")):
        shutil.copytree(data / name, root / "datasets" / place / "main")
    script = root / "datasets/RussianNLP/rucola/main/rucola.py"
    script.write_text("raise SystemExit('never run')\n", encoding="utf-8")
    return root


@pytest.mark.hub
@pytest.mark.parametrize("chat", [[], ["--chat.shots", "turns"]], ids=["plain", "chat"])
def test_tasks_are_scored_by_name(job, hub, tmp_path, chat):
    template = find_template("llama-3").read_text(encoding="utf-8")
    model = write_model(tmp_path / "model", context_length=1024, chat_template=template)
    out = tmp_path / "scores.csv"
    words = ["--models", f"0={model}", "--tasks", *NAMES, "--run", "r", "--out", out, *chat]
    job("score_multiple_choice", *words)
    with out.open(encoding="utf-8", newline="") as handle:
        rows = {(row["task"], row["metric"]): row for row in csv.DictReader(handle)}
    assert [*rows] == [
        (name, metric)
        for name, own in zip(NAMES, ("acc_together", "acc_f1", "acc_mcc"), strict=True)
        for metric in ("acc", own)
    ]
    refs = [hub / f"datasets--{name}/refs/main" for name in STORED]
    assert {row["data_revision"] for row in rows.values()} == {path.read_text() for path in refs}
    assert rows["darumeru_rucola", "acc"]["items"] == "120"
