"""Every part of the report makes of what it reads what it makes of the whole experiment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fake_results import change_experiment, fake_results, write_csv

from revocab.config import as_json
from revocab.config.reads import READ, read_by
from revocab.config.schema import Experiment
from revocab.io import read_json, write_json
from revocab.report.checks import check_results
from revocab.report.kind import figure_kinds
from revocab.report.make_figures import make_figures
from revocab.report.make_tables import make_tables
from revocab.report.page.sections import intersections
from revocab.report.results import Results
from revocab.report.results.scores import collect_scores

SWEEP = {
    "group": "mistral",
    "rows": "rate",
    "columns": "mix",
    "value": {"heldout": {"language": "it"}},
}
#: Tables that compare runs, by kind.
COMPARING: dict[str, dict] = {
    "runs": {
        "runs": ["mistral-sava"],
        "columns": [{"average": {"language": "it"}}, {"tokens": {}}],
    },
    "categories": {"runs": ["mistral-sava"], "categories": {"All": ["mmlu_it", "squad_it"]}},
    "languages": {"groups": {"mistral": ["it"]}, "into": "en", "change": "percent"},
    "models_by_language": {
        "blocks": [{"languages": ["it"]}],
        "columns": {"Base": {"it": "mistral-base"}, "SAVA": {"it": "mistral-sava"}},
        "into": "en",
    },
    "sweep": SWEEP,
    "examples": {"runs": ["mistral-sava"], "task": "squad_it"},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory, repository) -> Path:
    """Made-up results with scores, and beside them ``settings/`` as the workflow writes it."""
    folder = tmp_path_factory.mktemp("reads") / "results" / "demo"
    fake_results(folder, paper_values=str(repository / "config" / "paper"))
    by_corpus = {"kind": "fertility_by_corpus", "tokenizers": ["source"], "corpora": ["world-it"]}
    change_experiment(folder, "figures", "by_corpus", value={**by_corpus, "title": "Italian"})
    heldout = {"kind": "heldout", "title": "Loss", "runs": ["mistral-sava"], "reference": "source"}
    figure = {key: value for key, value in heldout.items() if key != "reference"}
    change_experiment(folder, "figures", "heldout", value=figure)
    place = {"rate": "low", "mix": "plain"}
    change_experiment(folder, "runs", "mistral", "methods", "fvt", "axes", value=place)
    change_experiment(
        folder, "figures", "sweep", value={**SWEEP, "kind": "sweep", "title": "Rates"}
    )
    models = {**COMPARING["models_by_language"], "averages": [1]}
    models = {"kind": "models_by_language", "title": "Models", **models}
    figure = {"kind": "models_by_language", "title": "Models", "show": "averages"}
    change_experiment(folder, "figures", "models", value={**figure, "tables": {"models": models}})
    for name, options in {"heldout": heldout, **COMPARING}.items():
        change_experiment(folder, "tables", name, value={"kind": name, "title": "Runs", **options})
    experiment = Experiment.model_validate(read_json(folder / "experiment.json")["experiment"])
    for part in READ:
        write_json(folder / "settings" / f"{part}.json", read_by(part, experiment))
    collect_scores(folder, folder / "scores.parquet")
    return folder


def same_files(first: Path, second: Path) -> bool:
    names = sorted(path.name for path in first.iterdir())
    assert names and names == sorted(path.name for path in second.iterdir())
    return all((first / name).read_bytes() == (second / name).read_bytes() for name in names)


def test_scores(root, tmp_path):
    collect_scores(root, tmp_path / "scores.parquet", root / "settings" / "scores.json")
    assert (tmp_path / "scores.csv").read_bytes() == (root / "scores.csv").read_bytes()


def test_tables_and_checks(root, tmp_path):
    make_tables(root, tmp_path / "whole")
    make_tables(root, tmp_path / "read", root / "settings" / "tables.json")
    assert same_files(tmp_path / "whole", tmp_path / "read")
    part = Results(root, root / "settings" / "checks.json")
    assert check_results(part) == check_results(Results(root))


def test_figures(root, tmp_path):
    """One of each kind: drawing is slow."""
    whole = read_json(root / "experiment.json")
    part = read_json(root / "settings" / "figures.json")
    figures = whole["experiment"]["figures"]
    ids = [next(one for one in figures if figures[one]["kind"] == kind) for kind in figure_kinds()]
    for name, content in (("whole", whole), ("read", part)):
        content["experiment"]["figures"] = {one: figures[one] for one in ids}
        write_json(tmp_path / f"{name}.json", content)
        make_figures(root, tmp_path / name, tmp_path / f"{name}.json")
    assert same_files(tmp_path / "whole", tmp_path / "read")


def test_parts_hold_nothing_else(root):
    experiment = Experiment.model_validate(read_json(root / "experiment.json")["experiment"])
    scores = read_by("scores", experiment)
    assert set(scores["experiment"]["evaluation"]) == {"multiple_choice", "generation"}
    assert "title" not in scores["experiment"] and scores["runs"] == as_json(experiment)["runs"]


@pytest.mark.parametrize("model", ["o/comet", None])
def test_comet_scores_count_only_while_the_experiment_names_the_model(root, tmp_path, model):
    """Switched off after scoring, on after generating: no text is generated again for either."""
    folder = tmp_path / "demo"
    shutil.copytree(root, folder)
    content = read_json(folder / "experiment.json")
    content["experiment"]["evaluation"]["generation"]["comet_model"] = model
    write_json(folder / "experiment.json", content)
    results = Results(folder)
    run = results.base("mistral")
    scores = folder / "runs" / run.id / "generation" / "scores.csv"
    text = scores.read_text().replace("comet not configured", '"scored apart, see comet.csv"')
    scores.write_text(text)
    row = {"run": run.id, "step": 0, "task": "flores_en_it", "metric": "comet22", "value": 82.5}
    write_csv(scores.with_name("comet.csv"), [{**row, "reason": ""}])
    found = {one["metric"]: one for one in results.generation(run) if one["task"] == row["task"]}
    if model:
        assert found["comet22"]["value"] == "82.5"
    else:
        assert not found["comet22"]["value"]
        assert found["comet22"]["reason"] == "comet not configured"


def test_the_page_shows_no_intersection_that_the_experiment_no_longer_names(root, tmp_path):
    folder = tmp_path / "demo"
    shutil.copytree(root, folder)
    before = intersections(Results(folder))
    one = next(folder.glob("intersections/*/report.json"))
    write_json(folder / "intersections" / "source--elsewhere" / "report.json", read_json(one))
    assert intersections(Results(folder)) == before
    assert len(before[1]) == len(list(root.glob("intersections/*")))


@pytest.mark.parametrize("module", ["revocab.report.results.scores", "revocab.report.results"])
def test_results_can_be_the_first_thing_imported(module):
    """As the scripts do: the schema finds kinds of tables, which read results."""
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
