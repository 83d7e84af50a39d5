"""config/sava.yaml from end to end from a filled cache: only budgets differ (docs/machines.md).

COMET takes part where its environment is (``make comet``); else without-comet.yaml is laid over.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import hub_content
import pytest
import yaml
from hub_experiments import PROFILES, files_of, offline_snakemake, rows_of, under
from training_pico import table

from revocab.corpora.word_splitters import SENTENCES, available_splitter
from revocab.io import read_json

FILES = ["--configfile", *files_of("sava")]


@pytest.fixture(scope="module")
def comet_folder(repository, tmp_path_factory) -> Path | None:
    """A random COMET checkpoint that names its encoder on the Hub, as the released ones do."""
    python = Path(os.environ.get("REVOCAB_COMET_PYTHON", repository / ".venv-comet/bin/python"))
    if not python.is_file():
        return None
    out = tmp_path_factory.mktemp("comet")
    script = repository / "tests/support/comet_checkpoint.py"
    subprocess.run([python, script, out, hub_content.COMET_ENCODER], check=True)
    return out


@pytest.fixture(scope="module")
def hub(repository, comet_folder, tmp_path_factory) -> Callable[..., None]:
    """Runs the paper's files with more overlays from a filled cache."""
    root = hub_content.write_hub(tmp_path_factory.mktemp("hub"), comet_folder=comet_folder)
    last = [] if comet_folder else ["config/overlays/without-comet.yaml"]
    snakemake = offline_snakemake(root, tmp_path_factory.mktemp("home"))

    def run(*overlays: str | Path, profile: str = "default", targets: Sequence[str] = ()) -> None:
        """Make everything anew, or of ``targets`` what the overlays change."""
        files = [*FILES, *overlays, *last]
        snakemake(repository, *targets, *under(profile), *files, anew=not targets)

    return run


@pytest.fixture(scope="module", params=PROFILES)
def results(request, repository, hub) -> Path:
    hub(profile=request.param)
    return repository / "results/sava-pico"


@pytest.fixture(scope="module")
def released(repository, hub, tmp_path_factory) -> Path:
    """The authors' own models, scored as they are."""
    named = tmp_path_factory.mktemp("released") / "named.yaml"
    named.write_text("experiment: sava-released-pico\n", encoding="utf-8")
    hub("config/overlays/sava-released.yaml", named)
    return repository / "results/sava-released-pico"


@pytest.mark.hub
def test_eleven_tables_are_filled_with_published_values_beside_ours(results):
    assert read_json(results / "checks.json")["problems"] == 0
    beside = 0
    for number in range(1, 12):
        rows = rows_of(results, f"table{number:02d}")
        assert rows
        names = [name for name in rows[0] if name.endswith(" published")]
        for row in rows:
            ours = {name: row[name.removesuffix(" published")] for name in names}
            beside += sum(bool(row[name] and ours[name]) for name in names)
        if number == 1:
            assert rows[0]["Parameters"] == "7.24B (7.24B)"
        elif number == 2 and available_splitter("it") != SENTENCES:
            assert not any(row[name] for row in rows for name in names)
        elif number not in (8, 9):  # prompts
            assert any(row[name] for row in rows for name in names), f"table {number}"
        if number not in (1, 2, 8, 9):  # at the paper's own steps, so beside every printed value
            printed = [(row, name) for row in rows for name in names if row[name]]
            assert all(row[name.removesuffix(" published")] or "COMET" in name
                       for row, name in printed), f"table {number}"  # fmt: skip
    assert beside >= 282  # with COMET 36 more, and 12 of Table 2 where words are the paper's


@pytest.mark.hub
def test_every_claim_is_listed_with_its_verdict(results):
    rows = {row["Claim"]: row for row in rows_of(results, "claims")}
    assert len(rows) == 22
    said = Counter(row["We say"] for row in rows.values())
    # Sizes follow from architectures; emissions are arithmetic; all else was trained too little.
    assert said == {
        "cannot be tested at this scale": 18, "holds": 2, "does not hold": 1, "not measured here": 1
    }  # fmt: skip
    assert all(row["Our values"] for row in rows.values() if row["We say"] != "not measured here")


@pytest.mark.hub
def test_released_models_stand_beside_their_printed_values(released):
    assert read_json(released / "checks.json")["problems"] == 0
    assert not list(released.glob("runs/*/checkpoints"))
    for name, models in (("table03", 6), ("table04", 4), ("table10", 6), ("table11", 4)):
        rows = rows_of(released, name)
        assert len(rows) == models
        assert all(row["AVG"] and row["AVG published"] for row in rows)
    sava = next(row for row in rows_of(released, "table03") if row["Model"] == "SAVA (released)")
    assert float(sava["AVG published"]) == 66.99


@pytest.mark.hub
def test_every_hub_source_is_recorded_with_its_commit(results):
    manifests = [
        *results.glob("models/*/manifest.json"),
        *results.glob("tokenizers/*/manifest.json"),
        *results.glob("prompts/*.manifest.json"),
        *(results.parent.parent / "resources/sava-pico/corpora").glob("*/manifest.json"),
    ]
    assert len(manifests) == 5 + 3 + 3 + 4
    for path in manifests:
        found = read_json(path)
        parts = [found["pool"], found["test"]] if "pool" in found else [found.get("source", found)]
        for source in parts:
            assert re.fullmatch(r"[0-9a-f]{40}", source["commit"]), path
            assert source["pinned"] is False
    tasks = sorted(results.glob("tasks/*.yaml"))
    assert len(tasks) == 12
    for path in tasks:
        task = yaml.safe_load(path.read_text())
        assert task["dataset_path"].startswith("sapienzanlp/")
        assert re.fullmatch(r"[0-9a-f]{40}", task["dataset_kwargs"]["revision"])


@pytest.mark.hub
def test_comet_of_the_hub_fills_its_columns(results, comet_folder):
    if comet_folder is None:
        pytest.skip("no COMET environment: run 'make comet' (1.4 GB)")
    tables = sorted(results.glob("runs/*/generation/comet.csv"))
    assert tables
    for path in tables:
        rows = table(path)
        assert {row["model"] for row in rows} == {hub_content.COMET}
        assert all(re.fullmatch(r"[0-9a-f]{40}", row["model_revision"]) for row in rows)
        assert {row["task"] for row in rows} == {"flores_en_it", "flores_it_en"}
        assert all(row["value"] for row in rows)


@pytest.mark.hub
@pytest.mark.parametrize("results", ["default"], indirect=True)
def test_vllm_runs_what_the_paper_runs_with_it(results, hub, vllm_interpreter, tmp_path):
    """Of the base model and of an adapted one, with the engines of config/sava.yaml."""
    overlay = tmp_path / "engines.yaml"
    engines = {part: {"engine": "vllm"} for part in ("multiple_choice", "generation")}
    overlay.write_text(yaml.safe_dump({"evaluation": engines}), encoding="utf-8")
    runs = ("mistral-base", "mistral-sava")
    tables = [results / f"runs/{run}/{name}" for run in runs
              for name in ("multiple_choice.csv", "generation/scores.csv")]  # fmt: skip
    cost = results / "efficiency/mistral-base.json"
    before = [table(path) for path in tables]
    hub(overlay, targets=[str(path.relative_to(results.parents[1])) for path in (*tables, cost)])
    for path, others in zip(tables, before, strict=True):
        rows = table(path)
        assert {row["engine"] for row in rows} == {"vllm"}
        same = ("step", "task", "metric", "items")
        assert [[row[key] for key in same] for row in rows] == [
            [row[key] for key in same] for row in others
        ]
    assert read_json(cost)["engine"] == "vllm"


@pytest.mark.hub
def test_logs_hold_no_traceback(results):
    for log in (results / "logs").rglob("*.log"):
        assert "Traceback" not in log.read_text(), log
