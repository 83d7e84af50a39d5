"""Runs that build on runs, seeds and sweeps, beside the results of the small experiment."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest
import yaml
from run_snakemake import small_checkout, succeed
from training_pico import table as rows

from revocab.io import read_json, sha256

OVERLAY = "tests/experiments/runs.yaml"
SEEDS = [f"seeded-fvt-seed{seed}" for seed in (1, 2, 3)]

pytestmark = [pytest.mark.dag, pytest.mark.long]


@pytest.fixture(scope="module")
def root(small, repository, tmp_path_factory) -> Path:
    folder = small_checkout(repository, tmp_path_factory.mktemp("runs"))
    files = ("tests/experiments/small.yaml", OVERLAY)
    # The package in the folder: its templates then have the paths that are recorded.
    environment = {"PYTHONPATH": str(folder / "src")}
    said = succeed(folder, "--cores", "2", "--configfile", *files, **environment)
    # The small experiment's own is not made again, and seeds share what they pack.
    jobs = Counter(re.findall(r"^Job \d+: (\w+)", said, re.M))
    assert not {"pretrain_stand_in", "build_tokenizer"} & {*jobs}
    assert (jobs["adapt_model"], jobs["pack_tokens"]) == (8, 4)
    return folder / "results" / "small"


def heldout(root: Path, run: str, step: int) -> list[tuple[str, str]]:
    """Return corpus and loss of a run at a step, every digit."""
    (path,) = (root / "runs" / run).glob("*heldout.csv")
    found = rows(path)
    return [(one["corpus"], one["loss"]) for one in found if int(one["step"]) == step]


def test_all_of_it_is_made(root):
    assert read_json(root / "checks.json")["problems"] == 0
    assert (root / "runs/mistral-fvt/init/manifest.json").is_file()
    assert not (root / "runs/mistral-fvt/manifest.json").exists()  # not trained
    assert not (root / "runs/other-base").exists()  # scored as mistral-base
    (kept,) = (root / "runs/other-translated/checkpoints").iterdir()  # keep: last
    assert kept.name == "step-000006"


def test_a_run_begins_where_the_other_stood(root):
    """Weights bit for bit, and so the loss to the last digit."""
    begun = root / "runs/other-continued/init/model.safetensors"
    left = root / "runs/mistral-staged/checkpoints/step-000004/model.safetensors"
    assert sha256(begun) == sha256(left)
    assert heldout(root, "other-continued", 0) == heldout(root, "mistral-staged", 4)
    assert heldout(root, "other-continued", 8) != heldout(root, "mistral-staged", 8)


def test_a_run_is_made_of_the_best_checkpoint(root):
    """Of two, the one of the lower loss over both corpora, which are trained on."""
    trained = root / "runs/seeded-swept-half"
    kept = read_json(trained / "manifest.json")["best"]
    losses = {}
    for one in rows(trained / "heldout.csv"):
        if int(one["step"]):
            sums = losses.setdefault(int(one["step"]), [0.0, 0])
            sums[0] += float(one["loss"]) * int(one["tokens"])
            sums[1] += int(one["tokens"])
    assert kept["step"] == min(losses, key=lambda step: losses[step][0] / losses[step][1])
    weights = "model.safetensors"
    best = sha256(trained / f"checkpoints/step-{kept['step']:06d}" / weights)
    assert sha256(root / "runs/other-chosen/init" / weights) == best
    assert heldout(root, "other-chosen", 0) == heldout(root, "seeded-swept-half", kept["step"])


def test_a_run_is_tuned_on_parallel_text(root):
    """Rows of one pair each, in both directions, of which the translation is learned."""
    trained = root / "runs/other-translated"
    assert read_json(trained / "manifest.json")["settings"]["schedule"] == "inverse_sqrt"
    (folder,) = (root / "packed").glob("*--pairs--translate")
    packed = read_json(folder / "manifest.json")
    count = packed["corpora"]["pairs"]
    assert packed["one_per_row"] and count["documents"] == count["rows"] == 6 * 8
    assert 0 < count["answer_tokens"] < count["tokens"]


def test_rows_are_carried_over(root):
    """The base itself as relative: the donor's ordinary rows, bit for bit."""
    from safetensors.torch import load_file

    carried = load_file(root / "runs/other-carried/init/model.safetensors")
    donor = load_file(root / "runs/mistral-sava/checkpoints/step-000010/model.safetensors")
    body = load_file(root / "models/mistral/checkpoints/step-000020/model.safetensors")
    special = 3
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        assert (carried.pop(name)[special:] == donor[name][special:]).all()
    assert all((one == body[name]).all() for name, one in carried.items())


def test_loss_of_a_run_that_is_not_trained_is_what_training_would_measure(root):
    assert heldout(root, "mistral-fvt", 0) == heldout(root, "mistral-staged", 0)
    last = max(int(row["step"]) for row in rows(root / "models/helper/heldout.csv"))
    ended = [
        (row["corpus"], float(row["loss"]))
        for row in rows(root / "models/helper/heldout.csv")
        if int(row["step"]) == last
    ]
    # Weights are stored in float32, so that measuring them again gives the same.
    measured = [(one, float(loss)) for one, loss in heldout(root, "mistral-helper-itself", 0)]
    assert measured == ended


def test_tables_show_each_kind_of_run(root):
    names = [row["Model"] for row in rows(root / "tables/choices_it.csv")]
    assert names == ["Mistral stand-in", "The helper", "FVT", "SAVA", "SAVA"]
    names = [row["Model"] for row in rows(root / "tables/other.csv")]
    assert names == ["Mistral stand-in again", "back", "continued", "continued"]
    base = [rows(root / f"tables/{one}.csv")[0]["AVG"] for one in ("choices_it", "other")]
    assert base[0] == base[1] != ""


def test_an_experiment_without_most_sections_runs(small, repository, tmp_path):
    """Tokenizers alone, to the page; what the small experiment has made of them is there."""
    values = yaml.safe_load((repository / "tests/experiments/small.yaml").read_text())
    kept = ("experiment", "title", "world", "corpora", "tokenizers", "fertility")
    alone = {key: values[key] for key in kept}
    alone["tables"] = {"fertility": values["tables"]["fertility"]}
    file = tmp_path / "alone.yaml"
    file.write_text(yaml.safe_dump(alone, sort_keys=False))
    folder = small_checkout(repository, tmp_path / "checkout", "tokenizers", "fertility")
    said = succeed(folder, "--cores", "2", "--configfile", file)
    assert "build_tokenizer" not in said and "adapt_model" not in said and "score_" not in said
    made = folder / "results/small"
    assert read_json(made / "checks.json") == {
        "experiment": "small", "tables": 1, "figures": 0, "runs": 0, "scores": 0, "problems": 0
    }  # fmt: skip
    assert "Fertility" in (made / "report.html").read_text()


# Seeds and sweeps. -------------------------------------------------------------------------------


def losses(root: Path, run: str) -> list[str]:
    return [row["loss"] for row in rows(root / "runs" / run / "losses.csv")]


def test_seeds_begin_with_the_same_model_and_read_the_same_rows_in_other_orders(root):
    """FVT draws nothing: all that its seeds move is the order of rows."""
    assert len({sha256(root / "runs" / run / "init/model.safetensors") for run in SEEDS}) == 1
    packed = [read_json(root / "runs" / run / "manifest.json")["inputs"]["packed"] for run in SEEDS]
    assert len(set(packed)) == 1
    assert len({tuple(losses(root, run)) for run in SEEDS}) == 3


def test_rows_are_packed_once_for_all_runs_that_share_them(root):
    ours = {one.name for one in (root / "packed").iterdir() if "brief" in one.name}
    assert ours == {"target--bilingual--brief", "target--most--brief-most"}
    manifests = [
        read_json(root / f"runs/seeded-swept-{name}/manifest.json") for name in ("half", "most")
    ]
    assert [one["steps"] for one in manifests] == [6, 4]
    seeded = read_json(root / "runs" / SEEDS[0] / "manifest.json")
    assert manifests[0]["inputs"]["packed"] == seeded["inputs"]["packed"]
    assert manifests[0]["corpora"]["world-it"]["tokens"] == 6 * 8 * 128 / 2
    assert manifests[1]["corpora"]["world-it"]["tokens"] == 4 * 8 * 128 * 3 / 4


def test_tables_show_means_over_seeds(root):
    shown = rows(root / "tables/seeds.csv")
    assert [row["Model"] for row in shown] == ["Mistral stand-in once more", "FVT"]
    scored = [
        float(row["value"])
        for run in SEEDS
        for row in rows(root / "runs" / run / "multiple_choice.csv")
        if (row["step"], row["task"], row["metric"]) == ("6", "hellaswag_it", "acc_norm")
    ]
    assert float(shown[1]["Hellaswag"]) == pytest.approx(100 * fmean(scored), abs=1e-6)
    assert float(shown[1]["Hellaswag deviation"]) >= 0 and shown[0]["Hellaswag deviation"] == ""
    (pair,) = [
        row for row in rows(root / "significance/seeded/significance.csv")
        if row["task"] == "hellaswag_it"
    ]  # fmt: skip
    assert (pair["run"], pair["other"], pair["seeds"]) == ("seeded-base", "seeded-fvt", "3")
    assert "square brackets" in (root / "report.html").read_text(encoding="utf-8")
