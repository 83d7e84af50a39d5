"""Seeds and sweeps, through Snakemake, beside the results of the small experiment."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest
from run_snakemake import succeed
from test_building_runs import checkout

from revocab.io import read_json, sha256

pytestmark = pytest.mark.dag
SEEDS = [f"seeded-fvt-seed{seed}" for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def said(small, repository, tmp_path_factory) -> tuple[Path, str]:
    """The results, and what Snakemake printed."""
    folder = checkout(repository, tmp_path_factory.mktemp("seeds"))
    files = ("tests/experiments/small.yaml", "tests/experiments/seeds.yaml")
    printed = succeed(folder, "--cores", "2", "--configfile", *files)
    return folder / "results/small", printed


@pytest.fixture
def root(said) -> Path:
    return said[0]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def losses(root: Path, run: str) -> list[str]:
    return [row["loss"] for row in rows(root / "runs" / run / "losses.csv")]


def test_all_of_it_is_made_and_no_other_run_again(said):
    root, printed = said
    assert read_json(root / "checks.json")["problems"] == 0
    jobs = Counter(re.findall(r"^Job \d+: (\w+)", printed, re.M))
    assert "pretrain_stand_in" not in jobs
    assert jobs["adapt_model"] == jobs["init_embeddings"] == 5


def test_seeds_begin_with_the_same_model_and_read_the_same_rows_in_other_orders(root):
    """FVT draws nothing: all that its seeds move is the order of rows."""
    assert len({sha256(root / "runs" / run / "init/model.safetensors") for run in SEEDS}) == 1
    packed = [read_json(root / "runs" / run / "manifest.json")["inputs"]["packed"] for run in SEEDS]
    assert len(set(packed)) == 1
    assert len({tuple(losses(root, run)) for run in SEEDS}) == 3


def test_rows_are_packed_once_for_all_runs_that_share_them(root):
    ours = {one.name for one in (root / "packed").iterdir() if "brief" in one.name}
    assert ours == {"target--bilingual--brief", "target--bilingual-most--brief-bilingual-most"}
    manifests = [
        read_json(root / f"runs/seeded-swept-{name}/manifest.json") for name in ("half", "most")
    ]
    assert [one["steps"] for one in manifests] == [6, 4]
    seeded = read_json(root / "runs" / SEEDS[0] / "manifest.json")
    assert manifests[0]["inputs"]["packed"] == seeded["inputs"]["packed"]
    assert manifests[0]["corpora"]["world-it"]["tokens"] == 6 * 8 * 128 / 2
    assert manifests[1]["corpora"]["world-it"]["tokens"] == 4 * 8 * 128 * 3 / 4


def test_tables_show_means_over_seeds(root):
    table = rows(root / "tables/seeds.csv")
    assert [row["Model"] for row in table] == ["Mistral stand-in once more", "FVT"]
    scored = [
        float(row["value"])
        for run in SEEDS
        for row in rows(root / "runs" / run / "multiple_choice.csv")
        if (row["step"], row["task"], row["metric"]) == ("6", "hellaswag_it", "acc_norm")
    ]
    assert float(table[1]["Hellaswag"]) == pytest.approx(100 * fmean(scored), abs=1e-6)
    assert float(table[1]["Hellaswag deviation"]) >= 0 and table[0]["Hellaswag deviation"] == ""
    (pair,) = [
        row for row in rows(root / "significance/seeded/significance.csv")
        if row["task"] == "hellaswag_it"
    ]  # fmt: skip
    assert (pair["run"], pair["other"], pair["seeds"]) == ("seeded-base", "seeded-fvt", "3")
    assert "square brackets" in (root / "report.html").read_text(encoding="utf-8")
