"""What the report says of an experiment without being asked, on small changes to shipped ones."""

from __future__ import annotations

import pytest
import yaml

from revocab.config import as_json, validate
from revocab.io import write_json
from revocab.report.claims.shipped import percent
from revocab.report.make_tables import build_table
from revocab.report.page.html import page, short_texts
from revocab.report.results import Results
from revocab.report.table_parts.table import Cell


@pytest.fixture
def results_of(repository, tmp_path):
    """The results folder of a shipped experiment before anything is computed."""

    def found(name, change=lambda values: None):
        values = yaml.safe_load((repository / "config" / name).read_text(encoding="utf-8"))
        change(values)
        write_json(tmp_path / "experiment.json", as_json(validate(values)))
        return Results(tmp_path)

    return found


@pytest.mark.parametrize(
    ("stderr", "shown"), [(0.0403, "25.83±4.03"), (None, "25.83"), (0.0, "25.83")]
)
def test_averages_of_claims_have_their_errors(stderr, shown):
    assert percent(Cell(0.2583, stderr)) == shown


def test_claims_without_published_values_have_no_columns_for_them(results_of):
    table = build_table(results_of("bilingual-demo.yaml"), "claims")
    assert table.header == ["Claim", "Where", "Holds if", "Our values", "We say"]
    assert {len(row.cells) for row in table.rows} == {5}


def test_the_page_keeps_the_order_of_the_file(results_of):
    results = results_of("bilingual-demo.yaml")
    written = page(results)
    places = [written.index(f'<a href="#table-{one}"') for one in results.experiment.tables]
    assert places == sorted(places)


def test_corpora_that_ran_out_are_named(results_of):
    results = results_of("lep-demo.yaml")
    name = next(iter(results.experiment.tokenizers))
    parts = {
        "a": {"share": 0.5, "bytes": 10, "of": 10}, "b": {"share": 0.5, "bytes": 10, "of": 40}
    }  # fmt: skip
    write_json(results.root / f"tokenizers/{name}/manifest.json", {"train": parts, "versions": {}})
    rows = {"x": {"passes": 3, "share": 0.25}, "y": {"passes": 1, "share": 0.75}}
    write_json(results.root / "packed/t--m--r/manifest.json", {"corpora": rows})
    said = short_texts(results)
    assert [one.partition(":")[0] for one in said] == [f"Tokenizer {name}", "Training rows t--m--r"]
    assert "only 25% of b is used" in said[0] and "0.25 is filled by reading it 3 times" in said[1]
