"""The workflow as a module of another one, as `docs/experiments.md` shows it."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

from revocab.io import write_jsonl

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).resolve().parents[2]
EXPERIMENT = (REPOSITORY / "tests/experiments/fertility.yaml").read_text(encoding="utf-8")


def test_another_workflow_reads_a_table_of_the_module(tmp_path):
    page = (REPOSITORY / "docs/experiments.md").read_text(encoding="utf-8")
    block = re.search(r"```\n(configfile:.*?module revocab:.*?)```", page, re.S)
    assert block is not None
    (tmp_path / "Snakefile").write_text(
        block[1].replace("revocab/Snakefile", f"{REPOSITORY}/Snakefile")
    )
    (tmp_path / "config.yaml").write_text(f"vocabulary:\n{indent(EXPERIMENT, '  ')}")
    texts = [f"il gatto {n} è a casa, il cane legge {n * n} libri in giardino" for n in range(90)]
    write_jsonl(tmp_path / "text.jsonl", [{"text": text} for text in texts])
    command = [sys.executable, "-m", "snakemake", "--cores", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    with (tmp_path / "first.csv").open() as file:
        rows = [*csv.reader(file)]
    with (tmp_path / "results/mine/tables/fertility.csv").open() as file:
        assert rows == [*csv.reader(file)][:2]
    # The rules of the other workflow keep the lines that they print.
    assert "the first row of a table" in done.stderr
    assert "revocab_build_tokenizer tokenizer=small" in done.stderr
