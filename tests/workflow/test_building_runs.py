"""Runs that build on runs, through Snakemake, beside the results of the small experiment."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
import yaml
from run_snakemake import link_checkout, succeed

from revocab.io import read_json, sha256

OVERLAY = "tests/experiments/runs.yaml"

pytestmark = pytest.mark.dag


def checkout(repository: Path, folder: Path) -> Path:
    """Return a folder that runs the workflow, with the small experiment's finished results."""
    link_checkout(repository, folder)
    for name in ("results", "resources"):
        shutil.copytree(repository / name / "small", folder / name / "small", symlinks=True)
    # What Snakemake noted of the jobs, so that it runs what the overlay changes and no more.
    noted = Path(".snakemake/metadata")
    shutil.copytree(repository / noted, folder / noted)
    return folder


@pytest.fixture(scope="module")
def root(small, repository, tmp_path_factory) -> Path:
    folder = checkout(repository, tmp_path_factory.mktemp("runs"))
    files = ("tests/experiments/small.yaml", OVERLAY)
    said = succeed(folder, "--cores", "2", "--configfile", *files)
    assert "pretrain_stand_in" not in said  # the small experiment's own
    return folder / "results" / "small"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def heldout(root: Path, run: str, step: int) -> list[tuple[str, str]]:
    """Return corpus and loss of a run at a step, every digit."""
    found = rows(root / "runs" / run / "heldout.csv")
    return [(one["corpus"], one["loss"]) for one in found if int(one["step"]) == step]


def test_all_of_it_is_made(root):
    assert read_json(root / "checks.json")["problems"] == 0
    assert (root / "runs/mistral-fvt/init/manifest.json").is_file()
    assert not (root / "runs/mistral-fvt/manifest.json").exists()  # not trained
    assert not (root / "runs/other-base").exists()  # scored as mistral-base


def test_a_run_begins_where_the_other_stood(root):
    """Weights bit for bit, and so the loss to the last digit."""
    begun = root / "runs/other-continued/init/model.safetensors"
    left = root / "runs/mistral-staged/checkpoints/step-000004/model.safetensors"
    assert sha256(begun) == sha256(left)
    assert heldout(root, "other-continued", 0) == heldout(root, "mistral-staged", 4)
    assert heldout(root, "other-continued", 8) != heldout(root, "mistral-staged", 8)


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
    assert names == ["Mistral stand-in again", "back", "carried", "continued", "continued"]
    base = [rows(root / f"tables/{one}.csv")[0]["AVG"] for one in ("choices_it", "other")]
    assert base[0] == base[1] != ""


def test_items_made_of_held_out_text_are_scored(root):
    probe = root.parents[1] / "resources/small/probes/word_order_it"
    assert read_json(probe / "baselines.json")["items"] == 20
    scored = [row for row in rows(root / "scores.csv") if row["task"] == "word_order_it"]
    assert {row["items"] for row in scored} == {"20"}
    assert "mistral-base" in {row["run"] for row in scored}
    assert "Word order" in rows(root / "tables/choices_it.csv")[0]
    assert "word_order_it" in (root / "report.html").read_text()  # beside its blind baselines


def test_an_experiment_without_most_sections_runs(root, tmp_path):
    """Tokenizers alone, to the page."""
    values = yaml.safe_load((root.parents[1] / "tests/experiments/small.yaml").read_text())
    kept = ("experiment", "title", "world", "corpora", "tokenizers", "fertility", "intersections")
    alone = {key: values[key] for key in kept if key in values} | {"experiment": "alone"}
    alone["tables"] = {"fertility": values["tables"]["fertility"]}
    file = tmp_path / "alone.yaml"
    file.write_text(yaml.safe_dump(alone, sort_keys=False))
    said = succeed(root.parents[1], "--cores", "2", "--configfile", file)
    assert "adapt_model" not in said and "score_" not in said
    made = root.parent / "alone"
    assert read_json(made / "checks.json") == {
        "experiment": "alone", "tables": 1, "figures": 0, "runs": 0, "scores": 0, "problems": 0
    }  # fmt: skip
    assert "Fertility" in (made / "report.html").read_text()


def test_a_run_tuned_on_answers_ends_with_a_lower_loss_on_them_and_its_template(root):
    folder = root / "runs/mistral-instruct"
    first, last = (dict(heldout(root, "mistral-instruct", step)) for step in (0, 20))
    assert first.keys() == {"world-it", "world-en", "chat"}
    assert float(last["chat"]) < float(first["chat"])
    packed = read_json(root / "packed/source--chat--answers/manifest.json")
    assert packed["loss"] == "answers"
    template = (folder / "checkpoints/step-000020/chat_template.jinja").read_text()
    assert template == packed["chat_template"]


def test_averages_of_held_out_text_leave_answers_out(root):
    from revocab.report.results import Results

    results = Results(root)
    run = results.run("mistral-instruct")
    found = {row["corpus"]: row for row in results.heldout(run)[0] if row["step"] == 20}
    assert results.heldout_by_language(run, "en")[20] == found["world-en"]["bits_per_byte"]
