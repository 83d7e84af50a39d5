"""Runs with seeds in the kinds that compare runs: means, deviations, and the problems of a file."""

from __future__ import annotations

from pathlib import Path
from statistics import stdev

import pytest
import yaml
from fake_results import REPOSITORY, fake_results, write_csv
from one_group import written_out
from test_run_kinds import TABLES
from test_sweep_kinds import EXAMPLES

from revocab.errors import RevocabError
from revocab.experiment import validate
from revocab.experiment.layout import Layout
from revocab.report.make_tables import build_table
from revocab.report.results import Results
from revocab.report.results.scores import collect_scores
from revocab.report.table import Table
from revocab.report.template import rendered

SEEDS = (1, 2, 3)
#: Italian bits per byte at steps 0 and 100, by seed.
LOSSES = {1: (2.0, 1.0), 2: (2.0, 1.5), 3: (2.0, 0.5)}
SHOWN = {
    **TABLES,
    "heldout": {
        "kind": "heldout", "title": "Loss", "runs": ["mistral-fvt", "mistral-sava"],
        "languages": ["it"], "steps": [0, "last"],
    },
    "sweep": {
        "kind": "sweep", "title": "Sweep", "group": "mistral", "rows": "rate", "columns": "mix",
        "value": {"heldout": {"language": "it"}},
    },
    "examples": EXAMPLES,
    "models": {
        "kind": "models_by_language", "title": "Models", "blocks": [{"languages": ["it"]}],
        "columns": {"SAVA": {"it": "mistral-sava"}},
    },
}  # fmt: skip
FIGURES = {
    "f": {
        "kind": "loss", "title": "Loss", "runs": ["mistral-fvt", "mistral-sava"], "training": False,
    },
}  # fmt: skip


def demo() -> dict:
    """Return the demo with seeds of one run, which stands in a sweep."""
    values = yaml.safe_load((REPOSITORY / "config/demos/demo.yaml").read_text(encoding="utf-8"))
    sava = {"for": {"seed": [*SEEDS]}, "axes": {"rate": "low", "mix": "plain"}}
    values["runs"]["mistral"]["methods"]["sava"] = sava
    return {**values, "tables": SHOWN, "figures": FIGURES}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Results:
    root = tmp_path_factory.mktemp("seeds") / "results" / "demo"
    values = written_out(demo())
    fake_results(root, runs=values["runs"], tables=SHOWN, figures=FIGURES)
    for seed, losses in LOSSES.items():
        rows = [
            {"step": step, "corpus": "world-it", "language": "it", "loss": 1.0, "tokens": 5,
             "bits_per_byte": loss, "bytes": 10}
            for step, loss in zip((0, 100), losses, strict=True)
        ]  # fmt: skip
        write_csv(root / f"runs/mistral-sava-seed{seed}/heldout.csv", rows)
    collect_scores(root, root / "scores.parquet")
    return Results(root)


def row_of(table: Table, label: str) -> list:
    return next(row.cells for row in table.data_rows() if row.cells[0].text == label)


def test_losses_are_means_with_their_deviation(results):
    table = build_table(results, "heldout")
    first, last = row_of(table, "SAVA")[1:]
    assert (first.value, first.deviation) == (2.0, 0.0)
    assert (last.value, last.deviation) == (1.0, stdev([1.0, 1.5, 0.5]))
    assert last.number() == "1.000 [0.500]"
    assert row_of(table, "FVT")[1].deviation is None
    assert "last checkpoint deviation" in rendered(table, "csv").splitlines()[0]


@pytest.mark.parametrize("name", SHOWN)
def test_every_kind_shows_replicates_as_one(results, name):
    table = build_table(results, name)
    labels = [*table.header, *(table.over or ()), *(row.cells[0].text for row in table.data_rows())]
    assert not any("seed" in label for label in labels if label)
    if name != "examples":
        cells = [cell for row in table.data_rows() for cell in row.cells]
        assert any(cell.deviation is not None for cell in cells)


def test_files_name_replicates_as_one_or_one_by_one(monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    given = demo()
    validate(given)
    languages = {**SHOWN["models"], "columns": {"SAVA": {"it": "mistral-sava"}}}
    validate({**given, "tables": {"t": languages}, "figures": {}})
    table = {**SHOWN["heldout"], "runs": ["mistral-sava", "mistral-sava-seed2"]}
    value = {"heldout": {"language": "it", "reference": "source"}}
    tables = {"t": {"kind": "runs", "title": "T", "runs": table["runs"], "columns": [value]}}
    layout = Layout(validate({**given, "tables": tables, "figures": {}}))
    (file,) = layout.read_by_tables
    assert Path(file).name == "manifest.json" and "heldout/source--" in file
    with pytest.raises(RevocabError, match="measured at no step 1 of these runs"):
        validate({**given, "tables": {"t": {**table, "steps": [1]}}, "figures": {}})
    value = {"average": {"language": "it", "step": 3}}
    table = {**SHOWN["categories"], "runs": ["mistral-sava"], "columns": [value]}
    with pytest.raises(RevocabError, match="3 is not a checkpoint of run 'mistral-sava'"):
        validate({**given, "tables": {"t": table}, "figures": {}})
