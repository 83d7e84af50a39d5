"""The Markdown page of an experiment for docs/."""

from __future__ import annotations

import re

import pytest
from export_results import export_results
from fake_results import copy_of_demo

from revocab.errors import RevocabError
from revocab.report.make_tables import build_table
from revocab.report.results import Results
from revocab.report.template import rendered


@pytest.fixture
def folder(tmp_path):
    root = copy_of_demo(tmp_path)
    (root / "figures").mkdir()
    for identifier in Results(root).experiment.figures:
        (root / "figures" / f"{identifier}.svg").write_text("<svg/>")
    return root


def test_export(folder, tmp_path):
    out = tmp_path / "docs" / "results-demo.md"
    figures = tmp_path / "docs" / "figures" / "demo"
    export_results(folder, out, figures, date="2000-01-01", command="make demo")
    page = out.read_text(encoding="utf-8")
    assert "Date: 2000-01-01." in page
    assert "<summary>Table 11:" in page and page.count("<details>") == page.count("</details>") > 20
    assert page.count("Synthetic data") == 1 and "> Synthetic data" in page
    assert page.index("| Claim | Numbers | |") < page.index("<details>")
    for link in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page):
        assert (out.parent / link).is_file() and (out.parent / link).parent == figures
    assert len(list(figures.glob("*.svg"))) == 12


def test_exported_tables_are_those_of_the_results(folder, tmp_path):
    results, out = Results(folder), tmp_path / "page.md"
    export_results(folder, out, tmp_path / "figures", date="2000-01-01", command="make demo")
    page = out.read_text(encoding="utf-8")
    for name in results.experiment.tables:
        assert rendered(build_table(results, name), "md").split("\n\n")[1] in page


def test_export_leaves_out_tables_that_quote_data(folder, tmp_path):
    page = tmp_path / "page.md"
    options = {"date": "2026-01-01", "command": "x"}
    export_results(folder, page, tmp_path / "figures", **options, without=["table08"])
    assert "is left out: it quotes the data" in page.read_text()


def test_export_names_missing_figures(folder, tmp_path):
    (folder / "figures/figure01.svg").unlink()
    with pytest.raises(RevocabError, match=r"figure01\.svg: missing"):
        export_results(folder, tmp_path / "a.md", tmp_path / "f", date="x", command="y")
