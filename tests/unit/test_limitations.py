"""What the report says of an experiment without being asked, on small changes to shipped ones."""

from __future__ import annotations

import pytest
import yaml

from revocab.config import as_json, validate
from revocab.io import write_json
from revocab.report.claim import nothing_claimed
from revocab.report.claims.beats_base import percent
from revocab.report.make_tables import build_table
from revocab.report.page import html
from revocab.report.page.cautions import limitations
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


def beginnings(results):
    return [one.split(" ")[0] + " " + one.split(" ")[1] for one in limitations(results)]


def test_translations_without_comet_and_some_seeds_are_said(results_of):
    said = limitations(results_of("demo.yaml"))
    assert any(one.startswith("COMET-22 is not configured") for one in said)
    assert any(one.startswith("One seed for most runs: ") for one in said)
    assert any(one.startswith("Equal tokens are not equal text") for one in said)


def test_tables_of_a_metric_that_is_off_are_named(results_of):
    def without(values):
        values["evaluation"]["generation"]["xcomet_model"] = None

    start = "xCOMET is not configured: table03, table04, "
    assert any(line.startswith(start) for line in limitations(results_of("vocadt.yaml", without)))
    assert not any(line.startswith("xCOMET") for line in limitations(results_of("vocadt.yaml")))


def test_missing_results_differ_from_results_without_a_claim(results_of):
    results = results_of("lep-demo.yaml")
    assert nothing_claimed(results) == "No results yet."
    results.scores.rows.append({"run": "adapted-base"})
    assert "applies here" in nothing_claimed(results)


@pytest.mark.parametrize(
    ("stderr", "shown"), [(0.0403, "25.83±4.03"), (None, "25.83"), (0.0, "25.83")]
)
def test_averages_of_claims_have_their_errors(stderr, shown):
    assert percent(Cell(0.2583, stderr)) == shown


def test_claims_without_published_values_have_no_columns_for_them(results_of):
    table = build_table(results_of("bilingual-demo.yaml"), "claims")
    assert table.header == ["Claim", "Where", "Holds if", "Our values", "We say"]
    assert {len(row.cells) for row in table.rows} == {5}
    assert "printed" not in table.notes[0]


def test_the_score_of_one_task_is_no_mean_of_tasks(results_of):
    notes = build_table(results_of("lep-demo.yaml"), "ended").notes
    assert "Average (rules_it): Ended of rules_it, 0 to 100, ± standard error over items." in notes
    assert not any("every task" in one or "Metrics of" in one for one in notes)


def test_the_page_keeps_the_order_of_the_file_and_long_tables_scroll(results_of, monkeypatch):
    results = results_of("bilingual-demo.yaml")
    assert 'class="scroll long"' not in html.page(results)
    monkeypatch.setattr(html, "LONG", 2)
    page = html.page(results)
    assert 'class="scroll long"' in page
    first = page[page.index('<section id="shows">') : page.index("<h2>Tables</h2>")]
    assert '<a href="#table-claims">What is compared</a>' in first
    places = [page.index(f'<a href="#table-{one}"') for one in results.experiment.tables]
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
    said = [one for one in limitations(results) if "ran out" in one]
    assert [one.partition(":")[0] for one in said] == [f"Tokenizer {name}", "Training rows t--m--r"]
    assert "only 25% of b is used" in said[0] and "0.25 is filled by reading it 3 times" in said[1]
